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

	Name string
}

func newRemove(s *term.Streams, run func(context.Context, *removeOptions) error) *cobra.Command {
	o := &removeOptions{Streams: s}
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget a cluster and the session with it",
		Long:    "Forget a cluster and the session with it. The cluster itself is not touched.",
		Example: "  det-deploy context remove lab",
		Args:    usage.Args("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
}

func runRemove(ctx context.Context, o *removeOptions) error {
	err := change(ctx, o.Streams, func(b *contexts.Book) error {
		if !b.Remove(o.Name) {
			return &missingError{o.Name}
		}
		if b.Current == o.Name {
			b.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.Notef("Context %s is forgotten.", o.Name)
	return nil
}
