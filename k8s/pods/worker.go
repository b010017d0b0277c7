package pods

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// retryAfter is the delay before retrying a failed call of the API server, a store, or the owner of
// tasks. glance is the delay before checking again for a change that may not be visible yet.
const (
	retryAfter = 500 * time.Millisecond
	glance     = time.Second
)

// worker takes allocations from the work queue.
type worker struct {
	state    *state
	reporter *reporter
	starter  *starter
	runner   *runner
	cleaner  *cleaner
}

// reconcileAllocation executes the actions of an allocation's phase. It returns when to run again
// without an event; 0 means never. Only one worker at a time runs it for an allocation; it may be
// interrupted anywhere and is idempotent.
func (k *worker) reconcileAllocation(ctx context.Context, id rm.AllocationID) time.Duration {
	k.state.mu.Lock()
	a, w := k.state.allocations[id], k.state.watch
	if a == nil || w == nil {
		k.state.mu.Unlock()
		return 0
	}
	phase := a.phase
	k.state.mu.Unlock()
	switch phase {
	case Queued:
		return k.reconcileQueued(ctx, a)
	case Making:
		return k.starter.createObjects(ctx, a)
	case Gated, Opening:
		return k.starter.gatherPods(ctx, w, a)
	case Running:
		return k.runner.reconcileRunning(ctx, w, a)
	case Undoing:
		return k.cleaner.removeAttempt(ctx, w, a)
	case Over:
		return k.cleaner.cleanUp(ctx, w, a)
	}
	return 0
}

// reconcileQueued reports why the allocation waits, and ends it if it has a release.
func (k *worker) reconcileQueued(ctx context.Context, a *allocation) time.Duration {
	if k.state.isReleased(a) {
		return k.reporter.reportEnd(ctx, a)
	}
	return k.reporter.reportWaiting(ctx, a)
}

// workers is the number of allocations that are reconciled in parallel. Workers mostly wait for the
// API server.
const workers = 32

// runWorker reconciles allocations until the queue is shut down.
func (k *worker) runWorker(ctx context.Context) {
	for {
		id, over := k.state.work.Get()
		if over {
			return
		}
		if again := k.reconcileAllocation(ctx, id); again > 0 && ctx.Err() == nil {
			k.state.work.AddAfter(id, again)
		}
		k.state.work.Done(id)
	}
}
