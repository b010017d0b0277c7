package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Description is what a command shows of the one thing T that its argument names.
type Description[T any] struct {
	// Fetch asks the master for what the argument names. Its result is the answer in JSON.
	Fetch func(ctx context.Context, master *client.Client, name string) (T, error)
	// Pairs are the lines of a name and a value; those without a value are left out.
	Pairs func(T) [][2]string
}

// NewDescribe returns a command that shows what its argument names, line by line or as JSON.
func NewDescribe[T any](s *term.Streams, d Description[T], c *cobra.Command) *cobra.Command {
	return NewRemote(s, &Remote{}, func(ctx context.Context, o *Remote, master *client.Client) error {
		found, err := d.Fetch(ctx, master, o.Args[0])
		if err != nil {
			return err
		}
		return o.AnswerPairs(found, d.Pairs(found)...)
	}, c)
}
