package api

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"
)

// stripOperation leaves out what the SDK puts around every error: it names the call, which
// the error inside does already, in the words of policies.
func stripOperation(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Err
	}
	return err
}

// call is one call of a service, as the SDK's client has it. The edges hold these and
// not the client: a client in an interface makes the linker keep all its calls, some
// hundreds for EC2 (a third of the program).
type call[I, Opt, O any] func(context.Context, *I, ...func(*Opt)) (*O, error)

func (c call[I, Opt, O]) make(ctx context.Context, in *I, o []func(*Opt)) (*O, error) {
	out, err := c(ctx, in, o...)
	return out, stripOperation(err)
}
