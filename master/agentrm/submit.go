package agentrm

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Validate implements rm.ResourceManager. Agents that are disabled or lost
// count: they may come back.
func (r *RM) Validate(q rm.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Validate(q)
}

// Remarks implements rm.Remarks: agents make no pods.
func (r *RM) Remarks(q rm.Request) []string {
	if len(q.PodSpec) == 0 {
		return nil
	}
	return []string{"environment.pod_spec has no effect: this cluster runs its tasks on agents, not in pods"}
}

// fits says why a request could never run in a pool.
func (r *RM) fits(name string, q rm.Request) error {
	p, _ := r.cfg.pool(name)
	c := pool.Capacity{MaxAux: p.MaxAux, Shapes: r.cfg.Room(p.Name)}
	agents, most := 0, 0
	for _, a := range r.agents {
		if a.pool != p.Name {
			continue
		}
		agents++
		most = max(most, len(a.devices))
		c.Shapes = append(c.Shapes, pool.Shape{Slots: len(a.devices), Count: 1})
	}
	machine, launches := r.cfg.Machine(p.Name)
	if launches && q.SingleNode {
		// Whatever the pool has just now, such a machine may come.
		c.Shapes = append(c.Shapes, pool.Shape{Slots: machine, Count: 1})
	}
	if pool.Fits(c, q.Slots, q.SingleNode) {
		return nil
	}
	u := &rm.Unfulfillable{Pool: p.Name, Slots: q.Slots}
	switch {
	case q.Slots == 0:
		u.Reason = "it runs no zero-slot tasks (max_aux_containers_per_agent is 0)"
	case agents == 0 && !launches:
		u.Reason = "it has no agents, and may not launch any that would do"
	case q.SingleNode:
		u.Reason = fmt.Sprintf("it runs on one machine, and the largest has %d slots", max(most, machine))
	default:
		u.Reason = fmt.Sprintf("it has %d agents with at most %d slots each, over which they must be split equally", agents, max(most, machine))
	}
	return u
}

// Submit implements rm.ResourceManager. Allocation ids are used once: one that
// has just ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.Known(q.Allocation) {
		return nil
	}
	if _, err := r.add(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	r.stir()
	return nil
}

// add makes an allocation known, under what was changed for its job.
func (r *RM) add(q rm.Request) (*allocation, error) {
	e, err := r.queue.Add(q)
	if err != nil {
		return nil, err
	}
	a := &allocation{Entry: e, phase: Queued}
	r.allocations[q.Allocation] = a
	return a, nil
}

// Kill implements rm.ResourceManager.
func (r *RM) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.allocations[id]; a != nil {
		r.stop(a, rm.CauseKilled, reason)
	}
	return nil
}

// Preempt implements rm.ResourceManager. An allocation that still waits has
// nothing to save, and ends.
func (r *RM) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.allocations[id]
	switch {
	case a == nil:
	case a.phase == Placed:
		r.preempt(a, reason, time.Now())
	default:
		r.stop(a, rm.CausePreempted, reason)
	}
	return nil
}

// stop ends an allocation wherever it is.
func (r *RM) stop(a *allocation, cause rm.Cause, reason string) {
	if a.phase == Placed {
		r.kill(a, cause, reason)
		return
	}
	if a.phase != Queued || a.release != nil {
		return
	}
	// It is moved to Placed without containers, so that no pass places it while
	// its owner is told; settle then finds that nothing is left of it.
	a.release = &release{Cause: cause, Reason: reason, Kill: true}
	if err := a.transition(Placed); err != nil {
		r.cfg.Log.Error("stop allocation", "allocation", a.Allocation, "err", err)
		return
	}
	r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.settle(ctx, a) })
}

// Allocation implements rm.ResourceManager.
func (r *RM) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.allocations[id]
	if a == nil {
		return rm.Allocation{}, false
	}
	out := a.describe()
	if out.Waiting != "" {
		if sick := r.describeSick(a.Pool); sick != "" {
			out.Waiting += "; " + sick
		}
		if more := r.cfg.Waits(a.Pool, id); more != "" {
			out.Waiting += "; " + more
		}
	}
	return out, true
}
