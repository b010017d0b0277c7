package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func newUse(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Local{}, runUse, &cobra.Command{
		Use: "use NAME", Short: "Set the current context", Example: "  det-deploy context use lab", ValidArgsFunction: contexts.Completer(s),
	})
}

func runUse(ctx context.Context, o *command.Local) error {
	var chosen contexts.Context
	overridden := ""
	err := changeContexts(ctx, o.Streams, func(b *contexts.Book) error {
		c, ok := b.Get(o.Args[0])
		if !ok {
			return &missingError{o.Args[0]}
		}
		b.Current, chosen = c.Name, c
		overridden = b.Overridden(o.Getenv, c.Name)
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.AnswerNote(chosen, "Switched to context %q (%s).", chosen.Name, chosen.Master); err != nil || overridden == "" {
		return err
	}
	o.Tell("%s", overridden)
	return nil
}
