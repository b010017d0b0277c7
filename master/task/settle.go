package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// settleRun asks the owner how to continue after a run, and carries it out. It depends on the current
// state only, so that it may be called at any time; existing decisions are not requested again.
func (run *runs) settleRun(ctx context.Context, e *entry) error {
	s := e.latestSnapshot()
	owner, found := run.reg.ownerOf(s.task.Kind)
	if !s.waitsForOwner() || !found {
		return nil
	}
	a := s.currentAllocation()
	next, err := owner.Ended(ctx, describeEnd(s.task, a))
	if err != nil {
		return &ownerError{s.task.ID, a.Run, err}
	}
	if next == Done {
		return run.retireTask(ctx, e, (*snapshot).waitsForOwner)
	}
	now := run.cfg.Now().UTC()
	return run.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		if last := s.currentAllocation(); last.ID != a.ID || !s.waitsForOwner() {
			return s, nil
		}
		if s.task.Held = next == Hold; s.task.Held {
			return s, nil
		}
		return s.withAllocation(nextRun(s.task, a, a.Run+1, now)), nil
	})
}

// ownerError is a failure of an owner to decide. The owner is asked again.
type ownerError struct {
	task rm.TaskID
	run  int
	err  error
}

// Error implements error.
func (e *ownerError) Error() string {
	return fmt.Sprintf("decide how to continue after run %d of task %s: %v", e.run, e.task, e.err)
}

// Unwrap returns the owner's error.
func (e *ownerError) Unwrap() error { return e.err }

// logUndecided logs the error of an owner that will be asked again, and returns other errors. The
// resource manager asks again if the run had a placement, and so does settleAll.
func (run *runs) logUndecided(err error) error {
	if e, found := errors.AsType[*ownerError](err); found {
		run.cfg.Log.Warn("cannot decide how to continue after a run; retrying", "task_id", e.task, "err", e.err)
		return nil
	}
	return err
}

// settleAll asks the owners again that have not decided.
func (run *runs) settleAll(ctx context.Context) error {
	for _, e := range run.reg.listWhere((*snapshot).waitsForOwner) {
		err := run.settleRun(ctx, e)
		if r := run.reg.managerOf(); err == nil && r != nil && e.latestSnapshot().isOpen() {
			err = run.submitCurrent(ctx, r, e)
		}
		if err := run.logUndecided(err); err != nil {
			return err
		}
	}
	return run.startAllFollowers(ctx)
}

// nextRun returns the allocation of the run after last.
func nextRun(t lifecycle.Task, last lifecycle.Allocation, run int, at time.Time) lifecycle.Allocation {
	n := last.Next(t, at)
	n.Run = run
	return n
}

func describeEnd(t lifecycle.Task, a lifecycle.Allocation) RunEnd {
	out := RunEnd{
		Task: t.ID, Job: t.Job, Run: a.Run, Allocation: a.ID, At: a.End.At, Cause: a.End.Cause, Code: a.End.Code, Status: a.End.Status, Note: a.ExitNote(),
		Signalled: a.Preempted != nil, Heeded: a.Preempted != nil && a.Preempted.Acked,
	}
	for _, c := range a.Containers {
		out.Agents = append(out.Agents, c.Agent)
	}
	return out
}

// retireTask ends an owned task if a condition still holds. It keeps only the record that its log needs.
func (run *runs) retireTask(ctx context.Context, e *entry, condition func(*snapshot) bool) error {
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone || !condition(e.cur.Load()) {
		return nil
	}
	if err := run.records.copyLines(ctx, e); err != nil {
		return err
	}
	s := e.latestSnapshot()
	s.task.Ended, s.task.Held = s.currentAllocation().End.At, false
	id := string(s.task.ID)
	err := run.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, gone := toDocs().allocations.DeleteByParent(tx, id)
		return errors.Join(gone, toDocs().past.Put(tx, id, "", s.task.Ended, s.task), toDocs().tasks.Delete(tx, id))
	})
	if err != nil {
		return fmt.Errorf("end task %s: %w", id, err)
	}
	e.publishSnapshot(s)
	e.gone = true
	close(e.ended)
	run.reg.leaveJob(s.task)
	run.reg.dropTask(rm.TaskID(id))
	return nil
}
