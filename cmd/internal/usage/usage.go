// Package usage marks the mistakes that a user makes on the command line, so
// that the program can tell them from the failures of its work and point at the
// help. It is a leaf.
package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Error is a mistake on the command line: a wrong flag, value or argument.
type Error struct {
	// Err says what is wrong.
	Err error
	// Command is the command whose help answers, "det-deploy task run". It is
	// filled in by the program where it is empty.
	Command string
}

// Error is the text of the mistake.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the mistake to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Hint points at the help of the command.
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

// Check marks err, which may be nil, as a mistake on the command line.
func Check(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Err: err}
}

// Args accepts exactly the arguments named, and says which one is missing. A
// last name that ends in "…" stands for one or more.
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
