package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Move defines a command that moves each of the objects T named by its arguments, such as projects to a
// workspace.
type Move[T any] struct {
	// Change is the change without Ask and Do.
	Change[T]

	// To are the objects that --to names. Their IDs are numbers.
	To client.Noun
	// Do moves an object. It returns the object afterwards and a sentence about the move.
	Do func(ctx context.Context, master *client.Client, x T, to int32) (T, string, error)
}

type moveOptions struct {
	changeOptions

	To string
}

// Validate returns an error if there is no destination.
func (o *moveOptions) Validate() error {
	if o.To == "" {
		return usage.Errorf("--to is missing")
	}
	return nil
}

// NewMove returns a command that moves objects. It moves none if one of them does not exist.
func NewMove[T any](s *term.Streams, m Move[T], c *cobra.Command) *cobra.Command {
	o := &moveOptions{}
	o.Names = m.Names
	c = NewRemote(s, o, m.run, c)
	kind := strings.TrimSuffix(string(m.To), "s")
	c.Flags().StringVar(&o.To, "to", "", "destination, the name or ID of a "+kind)
	o.CompleteFlag(c, "to", m.To)
	return c
}

func (m Move[T]) run(ctx context.Context, o *moveOptions, master *client.Client) error {
	to, err := ResolveNumber(ctx, master, m.To, o.To)
	if err != nil {
		return err
	}
	change := m.Change
	change.Do = func(ctx context.Context, master *client.Client, x T) (T, string, error) {
		return m.Do(ctx, master, x, to)
	}
	return change.run(ctx, &o.changeOptions, master)
}

// ResolveNumber is like Resolve, for objects whose IDs are numbers.
func ResolveNumber(ctx context.Context, master *client.Client, n client.Noun, text string) (int32, error) {
	id, err := Resolve(ctx, master, n, text)
	if err != nil {
		return 0, err
	}
	return ReadNumber(strings.TrimSuffix(string(n), "s"), id)
}
