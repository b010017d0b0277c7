package k8s

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

const (
	// pauseLimit is how long tasks have to stop, when nothing else is said: enough for
	// a program to write a checkpoint, and what one that heeds no signal keeps the
	// upgrade waiting.
	pauseLimit = 2 * time.Minute
	// killLimit is how long killed pods may take to go: they have some 15 s to end,
	// and a node that is slow to tell a while.
	killLimit = 5 * time.Minute
)

// empty returns when no pod of a task is left on the nodes:
//
//	preempt what runs ─▶ wait p.limit ─▶ switch the nodes off, which kills ─▶ wait killLimit ─▶ give up
func (p pausing) empty(ctx context.Context, ids []string) error {
	if err := p.preempt(ctx); err != nil {
		return err
	}
	left, err := p.await(ctx, p.limit)
	if err != nil || left == 0 {
		return err
	}
	p.tell("%d pods of tasks have not stopped in %s; they are killed, and are run again all the same.", left, p.limit)
	if err := p.disable(ctx, ids, false); err != nil {
		return err
	}
	left, err = p.await(ctx, killLimit)
	if err != nil || left == 0 {
		return err
	}
	return fmt.Errorf("%d pods of tasks are still there after %s; `kubectl get pods -l determined` shows them", left, killLimit)
}

// preempt asks everything that runs to save itself and stop.
func (p pausing) preempt(ctx context.Context) error {
	all, err := p.master.Tasks(ctx)
	if err != nil {
		return err
	}
	for id, a := range all {
		if len(a.GetResources()) == 0 {
			continue // it waits
		}
		if err := p.master.Preempt(ctx, id); err != nil && client.KindOf(err) != client.NotFound {
			return err
		}
	}
	return nil
}

// await waits until no pod of a task is left, or limit has passed, and returns how many
// are.
func (p pausing) await(ctx context.Context, limit time.Duration) (left int, err error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		if left, err = p.left(ctx); err != nil || left == 0 {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-end.C:
			return left, nil
		case <-tick.C:
		}
	}
}
