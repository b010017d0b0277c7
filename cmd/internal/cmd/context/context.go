// Package context implements the commands that manage contexts, the masters known to the user, and select
// the current one.
package context

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy context`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "context", "Manage contexts", "  det-deploy context list\n  det-deploy context use lab",
		newList, newShow, newUse, newRemove)
}

// loadContexts reads the user's contexts.
func loadContexts(s *term.Streams) (contexts.File, *contexts.Book, error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return f, nil, err
	}
	b, err := f.Load()
	return f, b, err
}

// missingError reports a context that does not exist.
type missingError struct{ name string }

func (e *missingError) Error() string { return fmt.Sprintf("there is no context %q", e.name) }
func (e *missingError) Hint() string  { return "det-deploy context list" }

// changeContexts edits the user's contexts.
func changeContexts(ctx context.Context, s *term.Streams, edit func(*contexts.Book) error) error {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return err
	}
	return f.Change(ctx, edit)
}
