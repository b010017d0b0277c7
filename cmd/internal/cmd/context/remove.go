package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type removeOptions struct {
	*term.Streams

	Name   string
	Output term.Format
}

func newRemove(s *term.Streams, run func(context.Context, *removeOptions) error) *cobra.Command {
	o := &removeOptions{Streams: s}
	c := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a cluster's context and its session",
		Long:    "Remove a cluster's context and its session. The cluster itself is not touched.",
		Example: "  det-deploy context remove lab",
		Args:    usage.Args("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.Output.AddFlag(c.Flags())
	return c
}

func runRemove(ctx context.Context, o *removeOptions) error {
	var gone contexts.Context
	err := changeContexts(ctx, o.Streams, func(b *contexts.Book) error {
		var found bool
		if gone, found = b.Get(o.Name); !found {
			return &missingError{o.Name}
		}
		b.Remove(o.Name)
		if b.Current == o.Name {
			b.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(gone)
	}
	o.Notef("Context %s is forgotten.", o.Name)
	return nil
}
