package agentrm

import (
	"context"
	"fmt"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Validate implements rm.ResourceManager. Disabled and lost agents count, because they may come back.
func (r *RM) Validate(q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.queue.Validate(q)
}

// Remarks implements rm.Remarks: agents do not create pods.
func (r *RM) Remarks(q rm.Request) []string {
	if len(q.PodSpec) == 0 {
		return nil
	}
	return []string{"environment.pod_spec has no effect: this cluster runs its tasks on agents, not in pods"}
}

// Submit implements rm.ResourceManager. Allocation ids are used once: an allocation that has recently
// ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.queue.Known(q.Allocation) {
		return nil
	}
	if _, err := r.state.addAllocation(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	r.state.passes.Wake()
	return nil
}

// Kill implements rm.ResourceManager.
func (r *RM) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a := r.state.allocations[id]; a != nil {
		r.runner.endAllocation(a, rm.CauseKilled, reason)
	}
	return nil
}

// Preempt implements rm.ResourceManager. A waiting allocation has nothing to checkpoint, and ends.
func (r *RM) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	a := r.state.allocations[id]
	switch {
	case a == nil:
	case a.phase == Placed:
		r.runner.preemptAllocation(a, reason, time.Now())
	default:
		r.runner.endAllocation(a, rm.CausePreempted, reason)
	}
	return nil
}

// Change implements rm.ResourceManager. Changes apply to the job's later allocations as well, and
// outlive restarts of the master.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.changeJob(id, c, time.Now())
	if err != nil {
		return fmt.Errorf("change job %s: %w", id, err)
	}
	defer r.state.passes.Wake()
	for id, doc := range docs {
		if err := r.records.putJob(ctx, id, doc); err != nil {
			return fmt.Errorf("change job %s: the change is not stored and applies until the master restarts: %w", id, err)
		}
	}
	return nil
}

// changeJob returns the jobs to store.
func (r *RM) changeJob(id rm.JobID, c rm.Change, now time.Time) (map[rm.JobID]jobDoc, error) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	changed, err := r.state.queue.Change(id, c, now)
	if err != nil {
		return nil, err
	}
	r.state.moveWaiting(changed.Jobs...)
	for _, e := range changed.Preempt {
		r.runner.preemptAllocation(r.state.allocations[e.Allocation], fmt.Sprintf("the job was moved to resource pool %q", *c.Pool), now)
	}
	docs := make(map[rm.JobID]jobDoc, len(changed.Jobs))
	for _, j := range changed.Jobs {
		docs[j.ID] = jobDoc(j.Settings)
	}
	return docs, nil
}

// Explain reports to the owners of waiting allocations why no machines are launched for them, once for
// each kind of reason. Allocations that no longer wait are skipped.
func (r *RM) Explain(ids []rm.AllocationID, w rm.Wait) { r.runner.explainWaits(ids, w) }

// Refuse ends a waiting allocation that will not be served.
func (r *RM) Refuse(id rm.AllocationID, reason string) { r.runner.refuseWaiting(id, reason) }

// Allocation implements rm.ResourceManager.
func (r *RM) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	return r.state.describeAllocation(id)
}

// Priority implements rm.ResourceManager.
func (r *RM) Priority(id rm.AllocationID) (int, bool) { return r.state.priorityOf(id) }

// PriorityChanges implements rm.ResourceManager.
func (r *RM) PriorityChanges() uint64 {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.queue.Changes()
}

// Queue implements rm.ResourceManager.
func (r *RM) Queue(p rm.QueuePart) []*apiv1.Job { return r.state.listQueue(p) }

// Pools implements rm.ResourceManager. The launcher of machines adds the details of a cloud.
func (r *RM) Pools() []*apiv1.ResourcePool { return r.state.listPools() }

// PoolSettings implements rm.ResourceManager.
func (r *RM) PoolSettings() []rm.PoolSettings { return r.state.listPoolSettings() }
