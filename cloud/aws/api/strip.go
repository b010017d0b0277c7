package api

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"
)

// stripOperation removes the SDK's operation error, because the wrapped error already names the
// call by its IAM action.
func stripOperation(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Err
	}
	return err
}

// call is one method of an SDK client. The clients of this package hold these instead of the SDK's
// client, because a client stored in an interface makes the linker keep all of its methods: some
// hundreds for EC2, a third of the binary.
type call[I, Opt, O any] func(context.Context, *I, ...func(*Opt)) (*O, error)

func (c call[I, Opt, O]) make(ctx context.Context, in *I, o []func(*Opt)) (*O, error) {
	out, err := c(ctx, in, o...)
	return out, stripOperation(err)
}
