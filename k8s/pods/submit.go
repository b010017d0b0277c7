package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The priorities of jobs. As in Determined 0.38.1 the higher one goes first here,
// the opposite of pools of agents.
const (
	lowestPriority  = gang.LowestPriority
	highestPriority = gang.HighestPriority
	defaultPriority = gang.DefaultPriority
)

// Validate implements rm.ResourceManager. Whether there are nodes that large is not
// asked: an autoscaler may add them.
func (r *RM) Validate(q rm.Request) error {
	p, err := r.poolOf(q)
	if err != nil {
		return err
	}
	if err := check(q); err != nil {
		return err
	}
	if _, _, err := p.split(q); err != nil {
		return err
	}
	return podspec.Validate(q, p.Template)
}

// check says what is wrong with a request whatever the pool.
func check(q rm.Request) error {
	var errs []error
	if q.Allocation == "" || q.Job == "" {
		errs = append(errs, errors.New("an allocation and a job must be named"))
	}
	if q.Slots < 0 {
		errs = append(errs, fmt.Errorf("slots: must not be negative (%d)", q.Slots))
	}
	if q.Priority != 0 {
		if err := checkPriority(q.Priority); err != nil {
			errs = append(errs, err)
		}
	}
	if q.MaxSlots < 0 {
		errs = append(errs, fmt.Errorf("max_slots: must not be negative (%d)", q.MaxSlots))
	}
	return errors.Join(errs...)
}

func checkPriority(n int) error {
	if n < lowestPriority || n > highestPriority {
		return fmt.Errorf("priority: must be %d to %d (%d)", lowestPriority, highestPriority, n)
	}
	return nil
}

func (r *RM) poolOf(q rm.Request) (Pool, error) {
	name := q.Pool
	switch {
	case name != "":
	case q.Slots == 0:
		name = r.cfg.DefaultAux
	default:
		name = r.cfg.DefaultCompute
	}
	p, found := r.cfg.pool(name)
	if !found {
		return p, fmt.Errorf("%w: %q; there are %q", rm.ErrUnknownPool, name, r.cfg.poolNames())
	}
	return p, nil
}

// Submit implements rm.ResourceManager. Allocation ids are used once: one that
// has just ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.allocations[q.Allocation] != nil || r.gone.known[q.Allocation] {
		return nil
	}
	if err := check(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	if err := r.add(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	r.stir()
	return nil
}

// add makes an allocation known, under what was changed for its job.
func (r *RM) add(q rm.Request) error {
	j := r.jobs[q.Job]
	if j == nil {
		j = &job{id: q.Job, allocations: make(map[rm.AllocationID]*allocation)}
	}
	if _, exists := r.cfg.pool(j.Pool); exists {
		q.Pool = j.Pool
	}
	a := &allocation{Request: q, phase: Queued, since: time.Now(), priority: q.Priority, job: j}
	if err := r.shape(a); err != nil {
		if _, ran := r.past.allocations[q.Allocation]; !ran {
			return err
		}
		// What runs goes on, whatever was set since; it gets its shape from its Job.
		r.cfg.Log.Warn("what runs could not be run again", "allocation", q.Allocation, "err", err)
		a.pool = q.Pool
	}
	if j.Priority != 0 {
		a.priority = j.Priority
	}
	if a.priority == 0 {
		a.priority = defaultPriority
	}
	r.jobs[q.Job] = j
	j.allocations[q.Allocation] = a
	r.allocations[q.Allocation] = a
	return nil
}

// Kill implements rm.ResourceManager.
func (r *RM) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.allocations[id]; a != nil {
		r.kill(a, rm.CauseKilled, reason)
	}
	return nil
}

// Preempt implements rm.ResourceManager. An allocation that does not run yet has
// nothing to save, and ends.
func (r *RM) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.allocations[id]; a != nil {
		r.preempt(a, reason, time.Now())
	}
	return nil
}

// preempt asks a running allocation to save itself and stop. One that was asked
// before keeps the time that it was given.
func (r *RM) preempt(a *allocation, reason string, now time.Time) {
	switch {
	case a.phase != Running:
		r.kill(a, rm.CausePreempted, reason)
	case a.release == nil:
		a.release = &release{Cause: rm.CausePreempted, Reason: reason, By: now.Add(a.PreemptionTimeout)}
		r.look(a.Allocation)
		r.stir()
	}
}

// kill ends an allocation wherever it is. The first cause stays.
func (r *RM) kill(a *allocation, cause rm.Cause, reason string) {
	if a.phase == Over || a.killed() {
		return
	}
	if a.release == nil {
		a.release = &release{Cause: cause, Reason: reason}
	}
	harder := *a.release // the earlier one may be on its way to the store
	harder.Kill = true
	a.release = &harder
	r.look(a.Allocation)
	r.stir()
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
	if r.watch == nil && r.unknown != "" {
		out.Waiting = r.unknown
	}
	return out, true
}
