package task

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// runs takes tasks to the resource manager and stores what it reports of them.
type runs struct {
	*shared

	records  *records
	policies *policies
}

// Assigned implements rm.Tasks.
func (run *runs) Assigned(ctx context.Context, as rm.Assignment) ([]*agentv1.Spec, error) {
	e, found := run.reg.findAllocation(as.Allocation)
	if !found {
		return nil, fmt.Errorf("assign allocation %s: it is not known", as.Allocation)
	}
	for {
		specs, err := run.storeAssignment(ctx, e, as)
		if !isTransient(err) {
			return specs, err
		}
		// An error would end the allocation, which the state of the database must not.
		run.cfg.Log.Warn("cannot store a placement; trying again", "allocation_id", as.Allocation, "err", err)
		if err := delay.For(ctx, storePause); err != nil {
			return nil, err
		}
	}
}

// storePause is between two tries to reach a database that does not answer.
const storePause = time.Second

// isTransient says that an error is the database's and will go away.
func isTransient(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrFull)
}

func (run *runs) storeAssignment(ctx context.Context, e *entry, as rm.Assignment) ([]*agentv1.Spec, error) {
	err := run.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		a, _ := s.allocationByID(as.Allocation)
		next, err := a.Assign(as)
		if err != nil {
			return s, err
		}
		if next.Price == nil && run.cfg.Price != nil {
			next.Price = run.cfg.Price(as)
		}
		if next.SSHSeed == nil && len(as.Containers) > 1 {
			next.SSHSeed = make([]byte, 32)
			_, _ = rand.Read(next.SSHSeed) // it never fails
		}
		return s.withAllocation(next), nil
	})
	if err != nil {
		return nil, err
	}
	s := e.latestSnapshot()
	a, _ := s.allocationByID(as.Allocation)
	return run.buildSpecs(ctx, s.task, a, as)
}

// buildSpecs builds what to run. Its tokens are made again each time, because only their
// hashes are kept.
func (run *runs) buildSpecs(ctx context.Context, task lifecycle.Task, a lifecycle.Allocation, as rm.Assignment) ([]*agentv1.Spec, error) {
	program, err := run.programOf(ctx, task, a, as)
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	// Where each container has a network of its own, as in pods, it is found there.
	program.HostNetwork = program.HostNetwork && len(as.Ports) > 0
	own, user, err := run.cfg.Tokens.TaskTokens(ctx, task.UserID, string(as.Allocation))
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	return spec.Build(spec.Run{
		Program: program, Defaults: run.cfg.Defaults(as.Pool), Task: task.ID, Allocation: as.Allocation,
		Type: string(task.Kind), Username: task.Username, User: task.Unix,
		Ports: spec.NumberPorts(kindOf(task.Kind).ports, as.Ports), Session: own, UserToken: user, SSHSeed: a.SSHSeed, Policy: run.policies.policyOf(task.UserID, as.Pool),
	}, as.Containers), nil
}

// programOf is what a task runs: its owner says, or its own configuration.
func (run *runs) programOf(ctx context.Context, task lifecycle.Task, a lifecycle.Allocation, as rm.Assignment) (spec.Program, error) {
	if owner, found := run.reg.ownerOf(task.Kind); found {
		return owner.Run(ctx, RunOrder{Task: task.ID, Job: task.Job, Run: a.Run, Assignment: as, Unix: task.Unix, Defaults: run.cfg.Defaults(as.Pool)})
	}
	cfg, err := spec.Load(task.Config)
	return spec.Program{Config: cfg, Variables: arrayVariables(task.Array), HasContext: task.HasContext, HasHook: task.HasHook}, err
}

// Changed implements rm.Tasks.
func (run *runs) Changed(ctx context.Context, c rm.ContainerChange) error {
	e, err := run.records.changeAllocation(ctx, c.Allocation, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Change(c) })
	if err != nil || e == nil {
		return err
	}
	return run.killDoomed(ctx, run.reg.managerOf(), e)
}

// Preempted implements rm.Tasks.
func (run *runs) Preempted(ctx context.Context, id rm.AllocationID, reason string, deadline time.Time) (listens bool, err error) {
	now := run.cfg.Now()
	_, err = run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation {
		listens = a.Listens
		return a.Preempt(reason, now, deadline)
	})
	return listens, err
}

// Waits implements rm.Tasks.
func (run *runs) Waits(ctx context.Context, id rm.AllocationID, w rm.Wait) error {
	_, err := run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Wait(w) })
	return err
}

// changeAllocation changes one allocation. One that is not known was forgotten: nil.
func (rec *records) changeAllocation(ctx context.Context, id rm.AllocationID, change func(lifecycle.Allocation) lifecycle.Allocation) (*entry, error) {
	e, found := rec.reg.findAllocation(id)
	if !found {
		return nil, nil //nolint:nilnil // see above
	}
	return e, rec.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		a, found := s.allocationByID(id)
		if !found {
			return s, nil
		}
		return s.withAllocation(change(a)), nil
	})
}

// Ended implements rm.Tasks. The allocation's tokens go first: should we be
// interrupted behind that, the resource manager says it again.
func (run *runs) Ended(ctx context.Context, id rm.AllocationID, end rm.End) error {
	e, found := run.reg.findAllocation(id)
	if !found {
		return nil
	}
	if end.At.IsZero() {
		end.At = run.cfg.Now()
	}
	if err := run.cfg.Tokens.EndAllocation(ctx, string(id)); err != nil {
		return fmt.Errorf("end allocation %s: %w", id, err)
	}
	if err := run.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		s, err := finishAllocation(s, id, end)
		return forgetPast(s, e.said), err
	}); err != nil {
		return fmt.Errorf("end allocation %s: %w", id, err)
	}
	if err := run.settleRun(ctx, e); err != nil {
		return err
	}
	s, r := e.latestSnapshot(), run.reg.managerOf()
	if !s.isOpen() || r == nil {
		return nil
	}
	return run.submitCurrent(ctx, r, e)
}

// finishAllocation ends an allocation, and the task with it unless it is run again.
func finishAllocation(s snapshot, id rm.AllocationID, end rm.End) (snapshot, error) {
	a, found := s.allocationByID(id)
	if !found || a.Over() {
		return s, nil
	}
	kind := kindOf(s.task.Kind)
	done, err := a.Finish(end, kind.rerun(s.task))
	if err != nil {
		return s, err
	}
	s = s.withAllocation(done)
	if done.End.Again {
		return s.withAllocation(done.Next(s.task, end.At)), nil
	}
	if kind.owned {
		return s, nil // its owner says what follows
	}
	s.task.Ended = end.At
	s.task.Config, err = spec.Forget(s.task.Config)
	return s, err
}

// keptPast is how many allocations are kept of a task that were run again: one that waits for a
// day may be refused more than a thousand times, and the last ones say what is to be known.
const keptPast = 20

// forgetPast leaves out the older allocations that could not be started for what a machine lacks,
// or whose owner said what follows, as far as their lines are in the log: said of them are. It
// is pure.
func forgetPast(s snapshot, said int64) snapshot {
	owned, last := kindOf(s.task.Kind).owned, s.currentAllocation().ID
	past := func(a lifecycle.Allocation) bool { return a.ID != last && (notHere(a) || owned && a.Over()) }
	n := 0
	for _, a := range s.allocations {
		if past(a) {
			n++
		}
	}
	if n <= keptPast {
		return s
	}
	kept := make([]lifecycle.Allocation, 0, len(s.allocations))
	for _, a := range s.allocations {
		if past(a) && n > keptPast && a.FirstLine+int64(len(a.Lines)) <= said {
			n--
			continue
		}
		kept = append(kept, a)
	}
	s.allocations = kept
	return s
}

func notHere(a lifecycle.Allocation) bool { return a.End != nil && a.End.Cause == rm.CauseNotHere }
