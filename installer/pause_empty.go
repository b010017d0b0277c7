package installer

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

const (
	// DefaultPauseLimit is the default time for tasks to stop: enough for a program to write a
	// checkpoint. A task that ignores signals delays the upgrade by this time.
	DefaultPauseLimit = 2 * time.Minute
	// killLimit is how long killed pods may take to terminate: they have a grace period of some 15
	// s, and a slow node reports the end late.
	killLimit = 5 * time.Minute
)

// emptyNodes returns when no pod of a task is left on the nodes:
//
//	preempt tasks ─▶ wait p.Limit ─▶ disable the nodes, which kills ─▶ wait killLimit ─▶ give up
func (p Pause) emptyNodes(ctx context.Context, ids []string) error {
	if err := p.preemptTasks(ctx); err != nil {
		return err
	}
	left, err := p.waitForPods(ctx, p.Limit)
	if err != nil || left == 0 {
		return err
	}
	p.Notef("%d task pods have not stopped within %s; killing them. They run again afterwards.", left, p.Limit)
	if err := p.disableNodes(ctx, ids, false); err != nil {
		return err
	}
	left, err = p.waitForPods(ctx, killLimit)
	if err != nil || left == 0 {
		return err
	}
	return fmt.Errorf("%d task pods still exist after %s; list them with `kubectl get pods -l determined`", left, killLimit)
}

// preemptTasks asks all running tasks to checkpoint and stop.
func (p Pause) preemptTasks(ctx context.Context) error {
	all, err := p.Master.Tasks(ctx)
	if err != nil {
		return err
	}
	for id, a := range all {
		if len(a.GetResources()) == 0 {
			continue // queued
		}
		if err := p.Master.Preempt(ctx, id); err != nil && client.KindOf(err) != client.NotFound {
			return err
		}
	}
	return nil
}

// waitForPods waits until no pod of a task is left or limit has passed, and returns the number of
// remaining pods.
func (p Pause) waitForPods(ctx context.Context, limit time.Duration) (left int, err error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for {
		if left, err = p.Left(ctx); err != nil || left == 0 {
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
