package pods

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Validate implements rm.ResourceManager. Whether there are nodes that large is not
// asked: an autoscaler may add them.
func (r *RM) Validate(q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if err := r.state.queue.Validate(q); err != nil {
		return err
	}
	p, err := r.state.queue.PoolOf(q)
	if err != nil {
		return err
	}
	pool, _ := r.cfg.pool(p.Name)
	return podspec.Validate(q, pool.Template)
}

// Submit implements rm.ResourceManager. Allocation ids are used once: one that
// has just ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.queue.Known(q.Allocation) {
		return nil
	}
	if err := r.state.add(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	r.state.wakeScheduler()
	return nil
}

// Kill implements rm.ResourceManager.
func (r *RM) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a := r.state.allocations[id]; a != nil {
		r.state.kill(a, rm.CauseKilled, reason)
	}
	return nil
}

// Preempt implements rm.ResourceManager. An allocation that does not run yet has
// nothing to save, and ends.
func (r *RM) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a := r.state.allocations[id]; a != nil {
		r.state.preempt(a, reason, time.Now())
	}
	return nil
}

// Allocation implements rm.ResourceManager.
func (r *RM) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	a := r.state.allocations[id]
	if a == nil {
		return rm.Allocation{}, false
	}
	out := a.describe()
	if r.state.watch == nil && r.state.unknown != "" {
		out.Waiting = r.state.unknown
	}
	return out, true
}
