package command

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Change defines a command that changes each of the objects T named by its arguments.
type Change[T any] struct {
	// Names are the objects that the arguments name; see Remote.
	Names client.Noun
	// Fetch requests an object from the master, before it is changed.
	Fetch func(ctx context.Context, master *client.Client, id string) (T, error)
	// Ask returns the question before the change, which --yes answers. If it is nil, nothing is asked.
	Ask func([]T) string
	// Do changes an object. It returns the object afterwards and a sentence about the change.
	Do func(ctx context.Context, master *client.Client, x T) (T, string, error)
	// Reply returns the JSON output, in the format of the API.
	Reply func([]T) any
}

type changeOptions struct {
	Remote

	Yes bool
}

// NewChange returns a command that changes objects. It changes none if one of them does not exist.
func NewChange[T any](s *term.Streams, d Change[T], c *cobra.Command) *cobra.Command {
	o := &changeOptions{}
	o.Names = d.Names
	c = NewRemote(s, o, d.run, c)
	if d.Ask != nil {
		c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	}
	return c
}

func (d Change[T]) run(ctx context.Context, o *changeOptions, master *client.Client) error {
	var found []T
	for i, id := range o.Args {
		if slices.Contains(o.Args[:i], id) {
			continue
		}
		x, err := d.Fetch(ctx, master, id)
		if err != nil {
			return err
		}
		found = append(found, x)
	}
	if d.Ask != nil {
		if agreed, err := o.Agreed(ctx, o.Yes, d.Ask(found)); err != nil || !agreed {
			return err
		}
	}
	return changeEach(&o.Local, found, d.Reply, func(x T) (T, string, error) { return d.Do(ctx, master, x) })
}

// changeEach calls do for every object, even if some calls fail, and answers with the changed objects.
func changeEach[T any](o *Local, list []T, reply func([]T) any, do func(T) (T, string, error)) error {
	changed := []T{}
	var errs []error
	for _, x := range list {
		x, done, err := do(x)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.Tell("%s", done)
		changed = append(changed, x)
	}
	return errors.Join(append(errs, o.AnswerJSON(reply(changed)))...)
}
