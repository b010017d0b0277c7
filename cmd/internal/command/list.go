package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// List defines a command that lists items T, selected by options O.
type List[O remoteOptions, T any] struct {
	// Fetch requests the items from the master.
	Fetch func(ctx context.Context, o O, master *client.Client) ([]T, error)
	// Reply returns the JSON output, in the format of the API.
	Reply func([]T) any
	// Heads are the table headings in the format of term.NewTable. Row returns the cells of an item.
	Heads []string
	Row   func(T) []any
}

// NewList returns a command that lists items of the master, as a table or JSON.
func NewList[O remoteOptions, T any](s *term.Streams, o O, l List[O, T], c *cobra.Command) *cobra.Command {
	return NewRemote(s, o, func(ctx context.Context, o O, master *client.Client) error {
		items, err := l.Fetch(ctx, o, master)
		if err != nil {
			return err
		}
		return o.AnswerTable(l.Reply(items), l.table(items))
	}, c)
}

func (l List[O, T]) table(items []T) *term.Table {
	t := term.NewTable(l.Heads...)
	for _, item := range items {
		t.Row(l.Row(item)...)
	}
	return t
}
