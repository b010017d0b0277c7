// Package command builds cobra commands from their text, options and run function, so that the file of a
// verb contains nothing else. Options embed Base, Local or Remote.
package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Options holds the arguments and flags of a command and embeds Base, Local or Remote. If it has a method
// Validate() error, the method checks the command line.
type Options interface {
	addFlags(c *cobra.Command, s *term.Streams)
	read(c *cobra.Command, args []string)
}

// New adds the flags of o and the run function to c. The words after the verb in Use are the required
// arguments, unless c.Args is set or Use contains brackets.
func New[O Options](s *term.Streams, o O, run func(context.Context, O) error, c *cobra.Command) *cobra.Command {
	if c.Args == nil && !strings.ContainsRune(c.Use, '[') {
		c.Args = usage.Args(strings.Fields(c.Use)[1:]...)
	}
	o.addFlags(c, s)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.read(c, args)
		if v, ok := any(o).(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				return usage.Check(err)
			}
		}
		return run(c.Context(), o)
	}
	return c
}

// NewRemote is like New, for a command that connects to the master.
func NewRemote[O remoteOptions](
	s *term.Streams, o O, run func(context.Context, O, *client.Client) error, c *cobra.Command,
) *cobra.Command {
	return New(s, o, func(ctx context.Context, o O) error {
		master, err := o.DialMaster()
		if err != nil {
			return err
		}
		defer master.Close()
		if err := o.resolveArgs(ctx, master); err != nil {
			return err
		}
		return run(ctx, o, master)
	}, c)
}

// NewNoun returns a noun with its verbs as subcommands.
func NewNoun(s *term.Streams, use, short, example string, verbs ...func(*term.Streams) *cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example}
	for _, newVerb := range verbs {
		c.AddCommand(newVerb(s))
	}
	return c
}
