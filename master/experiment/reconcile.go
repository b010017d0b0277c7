package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const (
	// period is the interval at which all experiments are reconciled, so that failed requests to
	// tasks are retried.
	period = 2 * time.Second
	// parallel limits the experiments that are reconciled at once, and the trials of one experiment
	// that are stopped at once.
	parallel = 16
)

// reconciler makes the tasks match the documents.
type reconciler struct{ *shared }

// Reconcile reconciles experiments until ctx is done. It must be called once, after tasks can be
// started. A slow experiment does not block others.
func (r *reconciler) Reconcile(ctx context.Context) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	var g errgroup.Group
	g.SetLimit(parallel)
	for {
		for _, id := range r.dirty.take() {
			g.Go(func() error {
				r.reconcileOne(ctx, id)
				return nil
			})
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-r.dirty.wakes:
		case <-tick.C:
			r.wakeAll()
		}
	}
}

func (r *reconciler) wakeAll() {
	for _, e := range r.reg.all() {
		if x := e.snapshot(); r.needsWork(x) || isOpen(x) || len(r.cfg.Tasks.Held(rm.JobID(x.JobID))) > 0 { // programs of unmanaged experiments may have stopped sending heartbeats
			r.dirty.wake(e.id)
		}
	}
}

// reconcileOne reconciles an experiment. It logs errors; the next tick retries.
func (r *reconciler) reconcileOne(ctx context.Context, id int32) {
	defer r.dirty.finish(id)
	if err := r.reconcile(ctx, id); err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("cannot reconcile an experiment; retrying", "experiment_id", id, "err", err)
	}
}

// needsWork reports whether an experiment may need reconciling.
func (s *shared) needsWork(x record.Experiment) bool {
	return x.State == lifecycle.Deleting || isOpen(x) && !x.Unmanaged
}

// reconcile makes the tasks of one experiment match its documents.
func (r *reconciler) reconcile(ctx context.Context, id int32) error {
	e, err := r.reg.find(id)
	if err != nil {
		return nil //nolint:nilerr // it was deleted meanwhile
	}
	x := e.snapshot()
	if err := r.endHeld(ctx, e, x); err != nil {
		return err
	}
	if x.State == lifecycle.Deleting {
		return r.deleteExperiment(ctx, e)
	}
	if x.Unmanaged {
		return r.endSilent(ctx, e)
	}
	var s settings
	var trials []record.Trial
	if !e.readOpen(func(x *change.Experiment) { s, trials = settingsOf(x), x.OpenTrials() }) {
		return nil
	}
	if s.workspace, err = r.workspaceOf(x.ProjectID); err != nil {
		return err
	}
	// Runs must be stopped even if the scheduler rejects a change of the queue.
	unchanged := r.applyQueue(ctx, e, x)
	// Started in order, so that the first trials are scheduled first.
	for _, t := range trials {
		if err := r.startRun(ctx, s, t); err != nil {
			return errors.Join(unchanged, err)
		}
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, t := range trials {
		g.Go(func() error { return r.stopRun(ctx, t) })
	}
	return errors.Join(unchanged, g.Wait())
}

// applyQueue updates the job in the scheduler. If the scheduler does not have the job, the next task
// sends the settings.
func (r *reconciler) applyQueue(ctx context.Context, e *entry, x record.Experiment) error {
	if e.applied != nil && sameQueue(*e.applied, x.Queue) {
		return nil
	}
	q := x.Queue
	c := rm.Change{Weight: &q.Weight, MaxSlots: new(int), Pool: &q.Pool}
	if q.Priority > 0 {
		c.Priority = &q.Priority
	}
	if q.MaxSlots != nil {
		c.MaxSlots = q.MaxSlots
	}
	if err := r.cfg.Tasks.Change(ctx, rm.JobID(x.JobID), c); err != nil && !errors.Is(err, rm.ErrUnknownJob) {
		return fmt.Errorf("change the job of experiment %d: %w", x.ID, err)
	}
	e.applied = &q
	return nil
}

func sameQueue(a, b record.Queue) bool {
	x, y := a.MaxSlots, b.MaxSlots
	a.MaxSlots, b.MaxSlots = nil, nil
	return a == b && equal(x, y)
}

// startRun starts the current run of a trial unless it was started before. A run that must stop is
// started, too, so that its end is reported like any other. If the run has ended without a decision,
// Start asks the owner again.
func (r *reconciler) startRun(ctx context.Context, s settings, t record.Trial) error {
	if !t.Life.Running {
		return nil
	}
	status, found := r.cfg.Tasks.Status(rm.TaskID(t.Task()))
	undecided := status.Run == t.Life.Run && status.State == tasklife.Terminated && !status.Held
	if found && status.Run >= t.Life.Run && !undecided {
		return nil
	}
	return r.cfg.Tasks.Start(ctx, s.startOrder(t))
}

// stopRun signals or kills a run that must stop.
func (r *reconciler) stopRun(ctx context.Context, t record.Trial) error {
	id, want := rm.TaskID(t.Task()), t.Life.Wanted(r.cfg.Now())
	if want != lifecycle.Signal && want != lifecycle.End {
		return nil
	}
	status, found := r.cfg.Tasks.Status(id)
	switch {
	case !found || status.Run != t.Life.Run || status.State == tasklife.Terminated:
		return nil // the report of its end is pending
	case want == lifecycle.Signal:
		return r.cfg.Tasks.Signal(ctx, id, signalReason(t))
	}
	return r.cfg.Tasks.End(ctx, id, killReason(t))
}

// endHeld ends held tasks without a further run. If a paused trial is killed or canceled, no run
// exists whose end would end the task.
func (r *reconciler) endHeld(ctx context.Context, e *entry, x record.Experiment) error {
	held := r.cfg.Tasks.Held(rm.JobID(x.JobID))
	if len(held) == 0 {
		return nil
	}
	wanted := map[rm.TaskID]bool{}
	e.readOpen(func(open *change.Experiment) {
		for _, t := range open.OpenTrials() {
			wanted[rm.TaskID(t.Task())] = true
		}
	})
	for _, id := range held {
		if wanted[id] {
			continue
		}
		if err := r.cfg.Tasks.End(ctx, id, "its trial has ended"); err != nil {
			return err
		}
	}
	return nil
}

func signalReason(t record.Trial) string {
	switch {
	case t.Stopped:
		return "the search stopped the trial: " + t.Reason
	case t.Life.State == lifecycle.Paused:
		return "the experiment was paused"
	}
	return "the experiment was canceled"
}

func killReason(t record.Trial) string {
	switch {
	case t.Life.Invalid():
		return "invalid hyperparameters"
	case t.Life.State == lifecycle.StoppingError:
		return "the experiment failed"
	}
	return "killed on request"
}

// settings are the task settings that all trials of an experiment share.
type settings struct {
	record.Experiment
	order     task.StartOrder
	workspace int32
}

// dirty is a queue of experiments to reconcile. An experiment is taken by only one worker at a time.
type dirty struct {
	mu    sync.Mutex // guards ids and taken
	ids   map[int32]bool
	taken map[int32]bool
	wakes chan struct{}
}

func newDirty() *dirty {
	return &dirty{ids: map[int32]bool{}, taken: map[int32]bool{}, wakes: make(chan struct{}, 1)}
}

func (d *dirty) wake(id int32) {
	d.mu.Lock()
	d.ids[id] = true
	d.mu.Unlock()
	d.signal()
}

func (d *dirty) signal() {
	select {
	case d.wakes <- struct{}{}:
	default:
	}
}

// take returns all queued experiments that are not being reconciled. The caller must call finish for
// each.
func (d *dirty) take() []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []int32
	for id := range d.ids {
		if !d.taken[id] {
			d.taken[id] = true
			delete(d.ids, id)
			out = append(out, id)
		}
	}
	return out
}

// finish ends the reconciliation of an experiment. If the experiment was queued again meanwhile,
// take returns it again.
func (d *dirty) finish(id int32) {
	d.mu.Lock()
	delete(d.taken, id)
	again := d.ids[id]
	d.mu.Unlock()
	if again {
		d.signal()
	}
}
