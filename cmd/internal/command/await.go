package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Await holds the options of a command that waits until objects have reached a state.
type Await struct {
	Remote

	For     string
	Timeout time.Duration

	states []string
}

// AddAwaitFlags adds the flags. The first of the states is the default.
func (o *Await) AddAwaitFlags(c *cobra.Command, states ...string) {
	o.states = states
	c.Flags().StringVar(&o.For, "for", states[0], "state to wait for: "+strings.Join(states, ", "))
	c.Flags().DurationVar(&o.Timeout, "timeout", 0, "maximum time to wait, such as 10m (default unlimited)")
	CompleteWords(c, "for", states...)
}

// Validate checks the flags.
func (o *Await) Validate() error {
	switch {
	case !slices.Contains(o.states, o.For):
		return usage.Errorf("--for %q: must be one of %s", o.For, strings.Join(o.states, ", "))
	case o.Timeout < 0:
		return usage.Errorf("--timeout %s: must be positive", o.Timeout)
	}
	return nil
}

const (
	// askFirst and askLast are the intervals at which the master is asked.
	askFirst = 100 * time.Millisecond
	askLast  = 2 * time.Second
)

// AwaitEach waits until the objects of all arguments have reached the state, and returns them in the order of
// the arguments. Look returns the object of an argument and texts about the parts of it that have not reached
// the state, or an error if one of them no longer can. It is not called again for one that has reached it.
func AwaitEach[T any](ctx context.Context, o *Await, look func(ctx context.Context, arg string) (x T, open []string, err error)) ([]T, error) {
	found := make([]T, len(o.Args))
	reached := make([]bool, len(o.Args))
	return found, o.until(ctx, func(ctx context.Context) (string, error) {
		var left []string
		for i, arg := range o.Args {
			if reached[i] {
				continue
			}
			x, open, err := look(ctx, arg)
			if err != nil {
				return "", err
			}
			found[i], reached[i] = x, len(open) == 0
			left = append(left, open...)
		}
		return describeLeft(left), nil
	})
}

// until asks until no object is left, and shows on a terminal what is waited for. Ask returns a text about
// the objects that are left, or an error if one of them can no longer reach the state. A master that does not
// answer is asked again.
func (o *Await) until(ctx context.Context, ask func(context.Context) (left string, err error)) error {
	began, line := time.Now(), o.NewLiveLine()
	defer line.Clear()
	for pause := askFirst; ; pause = min(pause*3/2, askLast) {
		left, err := ask(ctx)
		switch {
		case client.KindOf(err) == client.Unavailable && ctx.Err() == nil:
			left = err.Error()
		case err != nil || left == "":
			return err
		}
		elapsed := time.Since(began)
		if o.Timeout > 0 && elapsed >= o.Timeout {
			return &timeoutError{o.Timeout, left}
		}
		if line.Lives() {
			line.Set("Waiting: "+left, elapsed.Truncate(time.Second).String())
		}
		if o.Timeout > 0 {
			pause = min(pause, max(o.Timeout-elapsed, time.Millisecond))
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// timeoutError reports that the time of a wait is over.
type timeoutError struct {
	after time.Duration
	left  string
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("not reached within %s: %s", e.after, e.left)
}

// Hint implements the second line of an error.
func (*timeoutError) Hint() string { return "wait longer with --timeout" }

// describeLeft describes the first objects of a list that are left, such as "task 5d1f is queued and 3 more".
func describeLeft(objects []string) string {
	switch len(objects) {
	case 0:
		return ""
	case 1:
		return objects[0]
	}
	return fmt.Sprintf("%s and %d more", objects[0], len(objects)-1)
}
