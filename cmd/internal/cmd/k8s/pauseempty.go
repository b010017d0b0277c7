package k8s

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// pauseLimit is how long pods may take to go once their tasks have ended: for a node
// that is slow to tell.
const pauseLimit = 5 * time.Minute

// empty has every task that runs save itself and stop, and waits until its pods are
// gone. How long a task may take is its own affair: the master kills it at the end of
// its preemption_timeout.
func (p pausing) empty(ctx context.Context) error {
	told := make(map[string]bool)
	left, deadline := -1, time.Time{}
	return p.glances(ctx, func() (bool, error) {
		running, err := p.running(ctx)
		if err != nil {
			return false, err
		}
		for _, id := range running {
			if told[id] {
				continue
			}
			if err := p.master.Preempt(ctx, id); err != nil && client.KindOf(err) != client.NotFound {
				return false, err
			}
			told[id] = true
		}
		if n := len(running); n > 0 {
			if n != left {
				p.tell("%d tasks have yet to stop.", n)
			}
			left, deadline = n, time.Time{}
			return false, nil
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(pauseLimit)
		}
		return p.gone(ctx, deadline)
	})
}

// running are the allocations that have something on a node.
func (p pausing) running(ctx context.Context) ([]string, error) {
	all, err := p.master.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for id, a := range all {
		if len(a.GetResources()) > 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// gone reports whether no pod of a task is left. After deadline one that is left is an
// error.
func (p pausing) gone(ctx context.Context, deadline time.Time) (bool, error) {
	n, err := p.left(ctx)
	if err == nil && n > 0 && time.Now().After(deadline) {
		err = fmt.Errorf("%d pods of tasks that have ended are still there after %s; `kubectl get pods -l determined` shows them", n, pauseLimit)
	}
	return n == 0, err
}

// glances looks until there is nothing more to wait for.
func (p pausing) glances(ctx context.Context, over func() (bool, error)) error {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		if done, err := over(); err != nil {
			return fmt.Errorf("pause tasks: %w", err)
		} else if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
