package agentrm

import (
	"context"
	"fmt"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Validate implements rm.ResourceManager. Agents that are disabled or lost
// count: they may come back.
func (r *RM) Validate(q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.queue.Validate(q)
}

// Remarks implements rm.Remarks: agents make no pods.
func (r *RM) Remarks(q rm.Request) []string {
	if len(q.PodSpec) == 0 {
		return nil
	}
	return []string{"environment.pod_spec has no effect: this cluster runs its tasks on agents, not in pods"}
}

// Submit implements rm.ResourceManager. Allocation ids are used once: one that
// has just ended is not run again.
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

// Preempt implements rm.ResourceManager. An allocation that still waits has
// nothing to save, and ends.
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

// Change implements rm.ResourceManager. What is changed holds for the job's
// later allocations too, and outlives the master's restart.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.changeJob(id, c, time.Now())
	if err != nil {
		return fmt.Errorf("change job %s: %w", id, err)
	}
	defer r.state.passes.Wake()
	for id, doc := range docs {
		if err := r.records.putJob(ctx, id, doc); err != nil {
			return fmt.Errorf("change job %s: it is changed until the master restarts: %w", id, err)
		}
	}
	return nil
}

// changeJob returns the jobs to be stored.
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

// Explain tells the owners of waiting allocations what keeps machines from
// being launched for them. It is told once for each kind of matter; allocations
// that do not wait any more are passed over.
func (r *RM) Explain(ids []rm.AllocationID, w rm.Wait) { r.runner.explainWaits(ids, w) }

// Refuse ends an allocation that still waits and will not be served.
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

// Pools implements rm.ResourceManager. Details of a cloud are added by who
// launches the machines.
func (r *RM) Pools() []*apiv1.ResourcePool { return r.state.listPools() }

// PoolSettings implements rm.ResourceManager.
func (r *RM) PoolSettings() []rm.PoolSettings { return r.state.listPoolSettings() }
