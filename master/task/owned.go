package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// owned implements the operations of owners on their tasks.
type owned struct {
	*shared

	records  *records
	policies *policies
	runs     *runs
}

// Own assigns all tasks of a kind to an owner. It is called before Attach.
func (o *owned) Own(k lifecycle.Kind, owner Owner) { o.reg.setOwner(k, owner) }

// Start creates the task, or begins the next run of a held one, according to the order. It may be
// repeated: a run that has begun, or has ended, is not begun again. It returns once the order is stored,
// and a stored order is carried out even if this process ends. Before Attach it is only stored.
func (o *owned) Start(ctx context.Context, order StartOrder) error {
	for {
		e, fresh, err := o.reg.makeTask(order.Task, func(e *entry) (bool, error) { return o.createOwned(ctx, e, order) })
		if !fresh {
			if e.isGone() {
				continue // another call failed to create it, or it has just ended
			}
			err = o.resumeHeld(ctx, e, order)
		}
		if err != nil || e.isGone() {
			return err
		}
		return o.handOver(ctx, e)
	}
}

// handOver submits a run that is open, and asks the owner again about one that has ended. Attach
// completes skipped steps.
func (o *owned) handOver(ctx context.Context, e *entry) error {
	r := o.reg.managerOf()
	if r == nil {
		return nil
	}
	if err := o.runs.settleRun(ctx, e); err != nil || !e.latestSnapshot().isOpen() {
		return err
	}
	if err := o.runs.submitCurrent(ctx, r, e); err != nil {
		return fmt.Errorf("start task %s: %w", e.latestSnapshot().task.ID, err)
	}
	return nil
}

// createOwned stores a new task. It reports false if the task has already ended. The caller holds
// e.change.
func (o *owned) createOwned(ctx context.Context, e *entry, order StartOrder) (made bool, err error) {
	_, past, err := toDocs().past.Get(ctx, o.cfg.Store, string(order.Task))
	if err != nil || past {
		return false, err
	}
	task := taskOfOrder(order)
	first := lifecycle.First(task, o.cfg.Now().UTC())
	first.Run = order.Run
	err = o.cfg.Store.Write(ctx, func(tx *store.Tx) error { return errors.Join(putTask(tx, task), putAllocation(tx, first)) })
	if err != nil {
		return false, fmt.Errorf("start task %s: %w", order.Task, err)
	}
	o.reg.joinJob(task, e)
	e.publishSnapshot(snapshot{task: task, allocations: []lifecycle.Allocation{first}}) // its first line as in createTask
	return true, nil
}

func taskOfOrder(o StartOrder) lifecycle.Task {
	return lifecycle.Task{
		ID: o.Task, Kind: o.Kind, Job: o.Job, JobName: o.JobName, Entity: o.Entity, Name: o.Name, UserID: o.UserID, Username: o.Username, Unix: o.Unix,
		Workspace: o.Workspace, Submitted: o.Submitted, Pool: o.Pool, Slots: o.Slots, MaxSlots: o.MaxSlots,
		Priority: o.Priority, Weight: o.Weight, Preemptible: o.Preemptible, PreemptionTimeout: o.PreemptionTimeout,
		SingleNode: o.SingleNode, Excluded: o.Excluded, PodSpec: o.PodSpec, Warnings: o.Warnings,
	}
}

// resumeHeld begins the next run of a held task.
func (o *owned) resumeHeld(ctx context.Context, e *entry, order StartOrder) error {
	return o.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		last := s.currentAllocation()
		if !s.task.Held || order.Run <= last.Run {
			return s, nil
		}
		s.task = taskOfOrder(order)
		return s.withAllocation(nextRun(s.task, last, order.Run, o.cfg.Now().UTC())), nil
	})
}

// Signal asks a task's run to checkpoint and stop within its PreemptionTimeout, after which it is
// killed. A waiting run ends at once. It may be repeated, and returns nil for a task without a run.
func (o *owned) Signal(ctx context.Context, id rm.TaskID, reason string) error {
	e, found := o.reg.findTask(id)
	r := o.reg.managerOf()
	if !found || r == nil || !e.latestSnapshot().isOpen() {
		return nil
	}
	return r.Preempt(ctx, e.latestSnapshot().currentAllocation().ID, reason)
}

// End kills a task's run, or ends a held task. It may be repeated, and returns nil for an unknown task
// or one whose run has ended.
func (o *owned) End(ctx context.Context, id rm.TaskID, reason string) error {
	e, found := o.reg.findTask(id)
	if !found {
		return nil
	}
	if s := e.latestSnapshot(); s.isHeld() {
		return o.runs.retireTask(ctx, e, (*snapshot).isHeld)
	} else if !s.isOpen() {
		return nil
	}
	now := o.cfg.Now()
	err := o.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
		return s.withAllocation(s.currentAllocation().Kill(reason, now)), nil
	})
	if err != nil {
		return fmt.Errorf("end task %s: %w", id, err)
	}
	return o.runs.killDoomed(ctx, o.reg.managerOf(), e)
}

// Change alters a job in its queue, and stores the change for the later runs of all its tasks. It
// returns rm.ErrUnknownJob if the job is in no queue, or an error that names the invalid change.
func (o *owned) Change(ctx context.Context, job rm.JobID, c rm.Change) error {
	r := o.reg.managerOf()
	if r == nil {
		return rm.ErrUnknownJob
	}
	err := r.Change(ctx, job, c)
	if err != nil && !errors.Is(err, rm.ErrUnknownJob) {
		return err
	}
	for _, e := range o.reg.listJob(job) {
		if err := o.records.applyChange(ctx, e, changeTask(c)); err != nil {
			return fmt.Errorf("change job %s: %w", job, err)
		}
	}
	return err
}

// Status returns the status of a task. It reports false for a task that has ended.
func (o *owned) Status(id rm.TaskID) (Status, bool) {
	e, found := o.reg.findTask(id)
	if !found || e.latestSnapshot().hasEnded() {
		return Status{}, false
	}
	s := e.latestSnapshot()
	a := s.currentAllocation()
	st := Status{State: a.State, Allocation: a.ID, Run: a.Run, Held: s.task.Held}
	if r := o.reg.managerOf(); r != nil && a.Starts() {
		known, _ := r.Allocation(a.ID)
		st.Waiting = known.Waiting
	}
	return st, true
}

// Held returns the held tasks of a job.
func (o *owned) Held(job rm.JobID) []rm.TaskID {
	var out []rm.TaskID
	for _, e := range o.reg.listJob(job) {
		if s := e.cur.Load(); s.isHeld() {
			out = append(out, s.task.ID)
		}
	}
	return out
}

// Forget deletes an ended task with its log. It returns nil for an unknown task, and an error for one
// that has not ended.
func (o *owned) Forget(ctx context.Context, id rm.TaskID) error {
	if _, found := o.reg.findTask(id); found {
		return fmt.Errorf("delete task %s: it has not ended", id)
	}
	if err := o.cfg.Logs.Delete(ctx, string(id)); err != nil {
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	return o.cfg.Store.Write(ctx, func(tx *store.Tx) error { return toDocs().past.Delete(tx, string(id)) })
}

// DropLog deletes the log of a task that has ended. Repeated, it does nothing.
func (o *owned) DropLog(ctx context.Context, id rm.TaskID) error {
	if _, found := o.reg.findTask(id); found {
		return fmt.Errorf("delete the log of task %s: it has not ended", id)
	}
	return o.cfg.Logs.Delete(ctx, string(id))
}

// Write adds a line of the master to a task's log.
func (o *owned) Write(ctx context.Context, id rm.TaskID, level log.Level, text string) error {
	if e, found := o.reg.findTask(id); found {
		o.records.showLines(ctx, e) // earlier lines come first
	}
	return o.cfg.Logs.AppendUnsequenced(ctx, log.Batch{
		Task: string(id), Lines: []log.Line{{At: o.cfg.Now(), Level: level, Text: text, Source: masterSource, Stdtype: "stdout"}},
	})
}
