// Package command makes commands of their text, their options and what they run, so that
// a verb has nothing else in its file. Options embed Base, Local or Remote.
package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Options is what a command reads: they embed Base, Local or Remote. Those with a method
// Validate() error refuse a wrong command line by it.
type Options interface {
	addFlags(c *cobra.Command, s *term.Streams)
	read(c *cobra.Command, args []string)
}

// New completes c, which has its text, with the flags of o and with what it runs. The
// names behind the verb in Use are the arguments it takes, unless Args or brackets say
// otherwise.
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

// NewRemote is New for a command that asks the master.
func NewRemote[O remoteOptions](
	s *term.Streams, o O, run func(context.Context, O, *client.Client) error, c *cobra.Command,
) *cobra.Command {
	return New(s, o, func(ctx context.Context, o O) error {
		master, err := o.DialMaster()
		if err != nil {
			return err
		}
		defer master.Close()
		return run(ctx, o, master)
	}, c)
}

// NewNoun returns a noun with its verbs.
func NewNoun(s *term.Streams, use, short, example string, verbs ...func(*term.Streams) *cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example}
	for _, newVerb := range verbs {
		c.AddCommand(newVerb(s))
	}
	return c
}
