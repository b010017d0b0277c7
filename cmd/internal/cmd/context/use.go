package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type useOptions struct {
	*term.Streams

	Name string
}

func newUse(s *term.Streams, run func(context.Context, *useOptions) error) *cobra.Command {
	o := &useOptions{Streams: s}
	return &cobra.Command{
		Use:     "use NAME",
		Short:   "Make commands talk to a cluster from now on",
		Example: "  det-deploy context use lab",
		Args:    usage.Args("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
}

func runUse(ctx context.Context, o *useOptions) error {
	var master string
	err := change(ctx, o.Streams, func(b *contexts.Book) error {
		c, ok := b.Get(o.Name)
		if !ok {
			return &missingError{o.Name}
		}
		b.Current, master = c.Name, c.Master
		return nil
	})
	if err != nil {
		return err
	}
	o.Notef("Commands talk to %s, %s.", o.Name, master)
	return nil
}
