package tree

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// unknownVerb is what a noun does by itself: show its verbs, or refuse one that
// it does not have. Cobra alone would print the help and report success.
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

// mark makes err, about the arguments of c, a usage error of c.
func mark(c *cobra.Command, err error) error {
	return markUsage(c, usage.Check(err))
}

// markUsage adds the command to a usage error that lacks it.
func markUsage(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*usage.Error](err); ok && e.Command == "" {
		e.Command = c.CommandPath()
	}
	return err
}
