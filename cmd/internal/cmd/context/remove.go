package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func newRemove(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Local{}, runRemove, &cobra.Command{
		Use:               "remove NAME",
		ValidArgsFunction: contexts.Completer(s),
		Short:             "Delete a context and its session",
		Long:              "Delete a context and its session. The cluster is not changed.",
		Example:           "  det-deploy context remove lab",
	})
}

func runRemove(ctx context.Context, o *command.Local) error {
	var gone contexts.Context
	err := changeContexts(ctx, o.Streams, func(b *contexts.Book) error {
		var found bool
		if gone, found = b.Get(o.Args[0]); !found {
			return &missingError{o.Args[0]}
		}
		b.Drop(o.Args[0])
		return nil
	})
	if err != nil {
		return err
	}
	return o.AnswerNote(gone, "Deleted context %s.", gone.Name)
}
