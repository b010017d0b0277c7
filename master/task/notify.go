package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// runs submits tasks to the resource manager and stores its reports about them.
type runs struct {
	*shared

	records  *records
	policies *policies
	// boards builds the programs of TensorBoards.
	boards BoardPrograms
	// last is the configuration that was decoded last: the tasks of an array share one.
	last atomic.Pointer[decodedConfig]
}

// decodedConfig is a stored configuration and its decoded form. It is immutable.
type decodedConfig struct {
	stored  json.RawMessage
	decoded spec.Config
}

// Assigned implements rm.Tasks.
func (run *runs) Assigned(ctx context.Context, as rm.Assignment) ([]*agentv1.Spec, error) {
	return run.AssignedWith(ctx, as, nil)
}

// AssignedWith is Assigned in one transaction with the records of the resource manager.
func (run *runs) AssignedWith(ctx context.Context, as rm.Assignment, also func(*store.Tx) error) ([]*agentv1.Spec, error) {
	e, found := run.reg.findAllocation(as.Allocation)
	if !found {
		return nil, fmt.Errorf("assign allocation %s: unknown allocation", as.Allocation)
	}
	for {
		specs, err := run.storeAssignment(ctx, e, as, also)
		if !isTransient(err) {
			return specs, err
		}
		// An error would end the allocation, so wait until the database is available again.
		run.cfg.Log.Warn("cannot store a placement; retrying", "allocation_id", as.Allocation, "err", err)
		if err := wait.For(ctx, storePause); err != nil {
			return nil, err
		}
	}
}

// storePause is the pause between two attempts to reach the database.
const storePause = time.Second

// isTransient reports whether an error is a temporary one of the database.
func isTransient(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrFull)
}

func (run *runs) storeAssignment(ctx context.Context, e *entry, as rm.Assignment, also func(*store.Tx) error) ([]*agentv1.Spec, error) {
	own, user, keep, err := run.cfg.Tokens.NewTaskTokens(e.latestSnapshot().task.UserID, string(as.Allocation))
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	err = run.records.applyChangeWith(ctx, e, func(s snapshot) (snapshot, error) {
		a, _ := s.allocationByID(as.Allocation)
		next, err := a.Assign(as)
		if err != nil {
			return s, err
		}
		if next.Price == nil && run.cfg.Price != nil {
			next.Price = run.cfg.Price(as)
		}
		if next.SSHSeed == nil && len(as.Containers) > 1 {
			next.SSHSeed = newSSHSeed()
		}
		return s.withAllocation(next), nil
	}, inOrder(keep, also))
	if err != nil {
		return nil, err
	}
	return run.buildSpecs(ctx, e.latestSnapshot(), as, spec.Run{Session: own, UserToken: user})
}

// inOrder returns a function that runs several writes and skips those that are nil.
func inOrder(parts ...func(*store.Tx) error) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		for _, write := range parts {
			if write == nil {
				continue
			}
			if err := write(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// buildSpecs builds the specs with new tokens, because only the hashes of tokens are stored.
func (run *runs) buildSpecs(ctx context.Context, s snapshot, as rm.Assignment, with spec.Run) ([]*agentv1.Spec, error) {
	task := s.task
	a, _ := s.allocationByID(as.Allocation)
	program, err := run.programOf(ctx, task, a, as)
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	// Containers with networks of their own, such as pods, do not need it.
	program.HostNetwork = program.HostNetwork && len(as.Ports) > 0
	return spec.Build(spec.Run{
		Program: program, Defaults: run.cfg.Defaults(as.Pool), Task: task.ID, Allocation: as.Allocation,
		Type: string(task.Kind), Username: task.Username, User: task.Unix,
		Ports: spec.NumberPorts(kindOf(task.Kind).ports, as.Ports), Session: with.Session, UserToken: with.UserToken, SSHSeed: a.SSHSeed, Policy: run.policies.policyOf(task.UserID, as.Pool),
	}, as.Containers), nil
}

// programOf returns the program of a task, from its owner or its configuration.
func (run *runs) programOf(ctx context.Context, task lifecycle.Task, a lifecycle.Allocation, as rm.Assignment) (spec.Program, error) {
	if owner, found := run.reg.ownerOf(task.Kind); found {
		return owner.Run(ctx, RunOrder{Task: task.ID, Job: task.Job, Run: a.Run, Assignment: as, Unix: task.Unix, Defaults: run.cfg.Defaults(as.Pool)})
	}
	cfg, err := run.loadConfig(task.Config)
	if err == nil && task.Board != nil {
		return run.boards.Program(ctx, task, cfg)
	}
	k := kindOf(task.Kind)
	p := spec.Program{Config: cfg, Variables: arrayVariables(task.Array), HasContext: task.HasContext, HasHook: task.HasHook, HostNetwork: len(k.ports) > 0}
	if k.files != nil {
		p.Files = k.files(task, spec.NumberPorts(k.ports, as.Ports))
	}
	return p, err
}

// loadConfig is spec.Load with a cache. The caller must not modify the result.
func (run *runs) loadConfig(stored json.RawMessage) (spec.Config, error) {
	if last := run.last.Load(); last != nil && bytes.Equal(last.stored, stored) {
		return last.decoded, nil
	}
	cfg, err := spec.Load(stored)
	if err == nil {
		run.last.Store(&decodedConfig{stored, cfg})
	}
	return cfg, err
}

// Changed implements rm.Tasks.
func (run *runs) Changed(ctx context.Context, c rm.ContainerChange) error {
	return run.ReportedWith(ctx, c.Allocation, []rm.ContainerChange{c}, nil, nil)
}

// Preempted implements rm.Tasks.
func (run *runs) Preempted(ctx context.Context, id rm.AllocationID, reason string, deadline time.Time) (listens bool, err error) {
	now := run.cfg.Now()
	err = run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation {
		listens = a.Listens
		return a.Preempt(reason, now, deadline)
	})
	return listens, err
}

// Waits implements rm.Tasks.
func (run *runs) Waits(ctx context.Context, id rm.AllocationID, w rm.Wait) error {
	err := run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Wait(w) })
	return err
}

// changeAllocation changes one allocation. It does nothing for an unknown one, which was removed.
func (rec *records) changeAllocation(ctx context.Context, id rm.AllocationID, change func(lifecycle.Allocation) lifecycle.Allocation) error {
	e, found := rec.reg.findAllocation(id)
	if !found {
		return nil
	}
	return rec.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		a, found := s.allocationByID(id)
		if !found {
			return s, nil
		}
		return s.withAllocation(change(a)), nil
	})
}

// Ended implements rm.Tasks.
func (run *runs) Ended(ctx context.Context, id rm.AllocationID, end rm.End) error {
	return run.ReportedWith(ctx, id, nil, &end, nil)
}

// ReportedWith is Changed for each change of an allocation followed by Ended, unless end is nil, in one
// transaction with the records of the resource manager. The allocation's tokens are deleted with its
// end.
func (run *runs) ReportedWith(ctx context.Context, id rm.AllocationID, changes []rm.ContainerChange, end *rm.End, also func(*store.Tx) error) error {
	e, found := run.reg.findAllocation(id)
	if !found {
		if also == nil {
			return nil
		}
		return run.cfg.Store.Write(ctx, also)
	}
	if end == nil {
		if err := run.records.applyChangeWith(ctx, e, reportEdit(id, changes), also); err != nil {
			return err
		}
		return run.killDoomed(ctx, run.reg.managerOf(), e)
	}
	last := *end
	if last.At.IsZero() {
		last.At = run.cfg.Now()
	}
	err := run.records.applyChangeWith(ctx, e, func(s snapshot) (snapshot, error) {
		s, err := reportEdit(id, changes)(s)
		if err != nil {
			return s, err
		}
		s, err = finishAllocation(s, id, last)
		return forgetPast(s, e.said), err
	}, inOrder(run.cfg.Tokens.DropAllocation(string(id)), also))
	if err != nil {
		return fmt.Errorf("end allocation %s: %w", id, err)
	}
	return run.settleEnd(ctx, e)
}

// settleEnd carries out the consequences of a run's end.
func (run *runs) settleEnd(ctx context.Context, e *entry) error {
	if err := run.settleRun(ctx, e); err != nil {
		return err
	}
	s, r := e.latestSnapshot(), run.reg.managerOf()
	if s.hasEnded() {
		run.startFollowers(ctx, s.task.ID)
	}
	if !s.isOpen() || r == nil {
		return nil
	}
	return run.submitCurrent(ctx, r, e)
}

// reportEdit returns an edit that changes the containers of an allocation.
func reportEdit(id rm.AllocationID, changes []rm.ContainerChange) edit {
	return func(s snapshot) (snapshot, error) {
		a, found := s.allocationByID(id)
		if !found || len(changes) == 0 {
			return s, nil
		}
		for _, c := range changes {
			a = a.Change(c)
		}
		return s.withAllocation(a), nil
	}
}

// finishAllocation ends an allocation, and also the task unless it is run again.
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
	if done.End.Again && s.task.Paused {
		return s.withAllocation(done.Rest(end.At)), nil
	}
	if done.End.Again {
		return s.withAllocation(done.Next(s.task, end.At)), nil
	}
	if kind.owned {
		return s, nil // its owner decides how to continue
	}
	s.task.Ended = end.At
	return forgetSecrets(s)
}

// forgetSecrets removes from an ended task what only a run needs. A task that can be forked keeps the password
// of its registry until it is no longer listed.
func forgetSecrets(s snapshot) (_ snapshot, err error) {
	s.task.SSHSeed, s.task.Key, s.task.Paused = nil, "", false
	if !kindOf(s.task.Kind).forks {
		s.task.Config, err = spec.Forget(s.task.Config)
	}
	return s, err
}

// keptPast is the number of repeated allocations of a task that are kept. A task that waits for a day
// may be refused more than a thousand times, and the last ones suffice.
const keptPast = 20

// forgetPast removes older allocations that could not be started because a machine lacked something, or
// whose owner has decided how to continue, once their lines are in the log: the first said lines are. It
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
