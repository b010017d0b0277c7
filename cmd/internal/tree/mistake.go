package tree

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// unknownVerb runs a noun without a valid verb. It prints the help, or returns an error for an unknown
// verb. Cobra would print the help and report success.
func unknownVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	text := "unknown command %q for %q"
	if near := nearCommands(c, args[0]); len(near) > 0 {
		text += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return mark(c, usage.Errorf(text, args[0], c.CommandPath()))
}

// nearCommands returns the commands that begin with name, that differ from it in few letters, or that have
// the same letters in another order.
func nearCommands(c *cobra.Command, name string) []string {
	name = strings.ToLower(name)
	return slices.DeleteFunc(c.SuggestionsFor(name), func(near string) bool {
		return !strings.HasPrefix(near, name) && sortLetters(near) != sortLetters(name) && naming.Distance(name, near) > min(maxTypos(name), len(name)/2)
	})
}

func sortLetters(name string) string {
	letters := []byte(name)
	slices.Sort(letters)
	return string(letters)
}

// refuseEmpty returns an error if an argument of det-deploy is empty, which a variable of a shell is that
// is not set. The arguments of a program, which follow "--", may be empty.
func refuseEmpty(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	if i := slices.Index(args, ""); i >= 0 {
		return usage.Errorf("argument %d is empty", i+1)
	}
	return nil
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
