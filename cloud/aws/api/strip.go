package api

import (
	"errors"

	"github.com/aws/smithy-go"
)

// strip leaves out what the SDK puts around every error: it names the call, which
// the error inside does already, in the words of policies.
func strip(err error) error {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Err
	}
	return err
}
