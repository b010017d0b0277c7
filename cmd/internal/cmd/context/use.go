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

	Name   string
	Output term.Format
}

func newUse(s *term.Streams, run func(context.Context, *useOptions) error) *cobra.Command {
	o := &useOptions{Streams: s}
	c := &cobra.Command{
		Use:     "use NAME",
		Short:   "Set the current context",
		Example: "  det-deploy context use lab",
		Args:    usage.Args("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.Output.AddFlag(c.Flags())
	return c
}

func runUse(ctx context.Context, o *useOptions) error {
	var chosen contexts.Context
	err := changeContexts(ctx, o.Streams, func(b *contexts.Book) error {
		c, ok := b.Get(o.Name)
		if !ok {
			return &missingError{o.Name}
		}
		b.Current, chosen = c.Name, c
		return nil
	})
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(chosen)
	}
	o.Notef("Commands talk to %s, %s.", o.Name, chosen.Master)
	return nil
}
