package tree

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// unknownVerb runs a noun without a valid verb. It prints the help, or returns an error for an unknown
// verb. Cobra would print the help and report success.
func unknownVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	text := "unknown command %q for %q"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		text += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return mark(c, usage.Errorf(text, args[0], c.CommandPath()))
}

// mark wraps err, an error about the arguments of c, as a usage error of c.
func mark(c *cobra.Command, err error) error {
	return markUsage(c, usage.Check(err))
}

// markUsage adds the command to a usage error without one.
func markUsage(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*usage.Error](err); ok && e.Command == "" {
		e.Command = c.CommandPath()
	}
	return err
}
