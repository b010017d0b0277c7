package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Description defines a command that shows the item T named by its argument.
type Description[T any] struct {
	// Fetch requests the item from the master. Its result is the output as JSON.
	Fetch func(ctx context.Context, master *client.Client, name string) (T, error)
	// Pairs returns the names and values of the text output. Empty values are omitted.
	Pairs func(T) [][2]string
	// Lines, if set, returns lines of a program and their title, which text output has below.
	Lines func(T) (title string, lines []string)
	// Names are the objects that the argument names; see Remote.
	Names client.Noun
}

// NewDescribe returns a command that shows the item named by its argument.
func NewDescribe[T any](s *term.Streams, d Description[T], c *cobra.Command) *cobra.Command {
	return NewRemote(s, &Remote{Local: Local{Shows: true}, Names: d.Names}, func(ctx context.Context, o *Remote, master *client.Client) error {
		found, err := d.Fetch(ctx, master, o.Args[0])
		if err != nil {
			return err
		}
		if err := o.AnswerPairs(found, d.Pairs(found)...); err != nil || d.Lines == nil {
			return err
		}
		return o.PrintLastLines(d.Lines(found))
	}, c)
}
