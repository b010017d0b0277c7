package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// List is what a command lists: items T that the master has, chosen by options O.
type List[O remoteOptions, T any] struct {
	// Fetch asks the master for the items.
	Fetch func(ctx context.Context, o O, master *client.Client) ([]T, error)
	// Reply is the answer in JSON, of the form that the API has.
	Reply func([]T) any
	// Heads are the headings of the table, as term.NewTable takes them; Row has the cells
	// of one item.
	Heads []string
	Row   func(T) []any
}

// NewList returns a command that lists what the master has: a line for each item, or JSON.
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
