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
	p, err := r.cfg.poolOf(q)
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

// Submit implements rm.ResourceManager. Allocation ids are used once: one that
// has just ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.allocations[q.Allocation] != nil || r.state.ended.known[q.Allocation] {
		return nil
	}
	if err := check(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
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
