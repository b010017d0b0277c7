// Package usage marks errors in the command line, so that they are distinguished from failed operations
// and refer to the help. It imports no other package of det-deploy.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Error is an error in the command line: an invalid flag, value or argument.
type Error struct {
	// Err describes the error.
	Err error
	// Command is the command whose help to show, such as "det-deploy task run". Package tree sets it if it
	// is empty.
	Command string
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the command that prints the help.
func (e *Error) Hint() string {
	if e.Command == "" {
		return ""
	}
	return e.Command + " --help"
}

// Errorf returns a usage error.
func Errorf(format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...)}
}

// Check wraps err as a usage error. It returns nil if err is nil.
func Check(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Err: err}
}

// Args returns a check that accepts exactly the named arguments and reports the missing one. A final name
// that ends in "…" accepts one or more arguments.
func Args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return Errorf("%s is missing", strings.TrimSuffix(names[len(args)], "…"))
		}
		many := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) > len(names) && !many {
			return Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
