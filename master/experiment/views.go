package experiment

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// View is an experiment as it is shown.
type View struct {
	record.Experiment
	// Shown is its state with the progress of its allocations: one of lifecycle.State, or QUEUED,
	// PULLING, STARTING or RUNNING.
	Shown string
}

// TrialView is a trial as it is shown.
type TrialView struct {
	record.Trial
	Shown string
}

// Settings is an experiment's configuration as it is shown, without secrets.
type Settings struct {
	Config   map[string]any
	Original string
}

// views is how experiments are read.
type views struct{ *shared }

// OfJob is the number and the labels of the experiment that a job is; 0 for none.
func (v *views) OfJob(id rm.JobID) (experiment int32, labels []string) {
	e, err := v.reg.ofJob(id)
	if err != nil {
		return 0, nil
	}
	return e.id, e.snapshot().Labels
}

// List is all experiments that f leaves in, by their number.
func (v *views) List(f Filter) []View {
	out := []View{}
	for _, e := range v.reg.all() {
		if x := e.snapshot(); f.leavesIn(x) {
			if one := v.viewOf(x, e); f.leavesState(one) {
				out = append(out, one)
			}
		}
	}
	return out
}

// Records is what is kept of all experiments, by their number.
func (v *views) Records() []record.Experiment {
	all := v.reg.all()
	out := make([]record.Experiment, 0, len(all))
	for _, e := range all {
		out = append(out, e.snapshot())
	}
	return out
}

// Get is one experiment. The error has the code NotFound.
func (v *views) Get(id int32) (View, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return View{}, err
	}
	return v.viewOf(e.snapshot(), e), nil
}

// viewOf is an experiment as it is shown; e may be nil for one that has no trials.
func (s *shared) viewOf(x record.Experiment, e *entry) View {
	var running []lifecycle.Progress
	if e != nil && x.State == lifecycle.Active && !x.Unmanaged {
		var trials []record.Trial
		e.readOpen(func(open *change.Experiment) { trials = open.OpenTrials() })
		for _, t := range trials {
			running = append(running, s.progressOf(t)...)
		}
	}
	return View{Experiment: x, Shown: s.show(x, x.State, running)}
}

func (s *shared) show(x record.Experiment, state lifecycle.State, running []lifecycle.Progress) string {
	if x.Unmanaged && state == lifecycle.Active {
		return string(lifecycle.Running)
	}
	return lifecycle.Show(state, running)
}

// progressOf is how far the present run of a trial is, nothing for none.
func (s *shared) progressOf(t record.Trial) []lifecycle.Progress {
	st, found := s.cfg.Tasks.Status(rm.TaskID(t.Task()))
	if !found || !t.Life.Running || st.Run != t.Life.Run {
		return nil
	}
	switch st.State {
	case tasklife.Queued:
		return []lifecycle.Progress{lifecycle.Queued}
	case tasklife.Pulling:
		return []lifecycle.Progress{lifecycle.Pulling}
	case tasklife.Starting:
		return []lifecycle.Progress{lifecycle.Starting}
	case tasklife.Running, tasklife.Terminating:
		return []lifecycle.Progress{lifecycle.Running}
	case tasklife.Terminated:
	}
	return nil
}

// Settings reads an experiment's configuration. The error has the code NotFound.
func (v *views) Settings(ctx context.Context, id int32) (Settings, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return Settings{}, err
	}
	c, original, err := loadConfig(ctx, v.cfg.Store, id)
	if err != nil {
		return Settings{}, err
	}
	return Settings{Config: asChanged(c, e.snapshot()).Show(), Original: original}, nil
}

// asChanged is a configuration with what users have changed since.
func asChanged(c config.Experiment, x record.Experiment) config.Experiment {
	c.Name, c.Labels = &x.Name, x.Labels
	c.Resources.ResourcePool, c.Resources.Weight, c.Resources.MaxSlots = &x.Queue.Pool, &x.Queue.Weight, x.Queue.MaxSlots
	if x.Description != "" {
		c.Description = &x.Description
	}
	if x.Queue.Priority > 0 {
		c.Resources.Priority = &x.Queue.Priority
	}
	if x.LogDays != nil {
		c.Retention.LogDays = x.LogDays
	}
	return c
}

// Trials is the trials of an experiment by their number. The error has the code NotFound.
func (v *views) Trials(ctx context.Context, id int32) ([]TrialView, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return nil, err
	}
	var trials []record.Trial
	if !e.readOpen(func(x *change.Experiment) { trials = x.Trials() }) {
		docs, err := record.Docs().Trials.ByParent(ctx, v.cfg.Store, record.Key(id))
		if err != nil {
			return nil, fmt.Errorf("read the trials of experiment %d: %w", id, err)
		}
		trials = values(docs)
	}
	x := e.snapshot()
	out := make([]TrialView, len(trials))
	for i, t := range trials {
		out[i] = v.trialView(x, t)
	}
	return out, nil
}

func (v *views) trialView(x record.Experiment, t record.Trial) TrialView {
	var running []lifecycle.Progress
	if t.Life.State == lifecycle.Active {
		running = v.progressOf(t)
	}
	return TrialView{Trial: t, Shown: v.show(x, t.Life.State, running)}
}

// Trial is one trial. The error has the code NotFound.
func (v *views) Trial(ctx context.Context, id int32) (TrialView, error) {
	e, t, err := v.readTrial(ctx, id)
	if err != nil {
		return TrialView{}, err
	}
	return v.trialView(e.snapshot(), t), nil
}

// TrialTasks is whose trial it is and where it runs. It asks nothing of other trials: who reports is
// compared with it each time. The error has the code NotFound.
func (v *views) TrialTasks(ctx context.Context, id int32) (record.TrialTasks, error) {
	e, t, err := v.readTrial(ctx, id)
	if err != nil {
		return record.TrialTasks{}, err
	}
	return record.TrialTasks{Experiment: t.Experiment, Owner: e.snapshot().UserID, Tasks: t.Tasks, Ended: t.Life.State.Over()}, nil
}

// readTrial is a trial as it is in memory, or in the store.
func (v *views) readTrial(ctx context.Context, id int32) (e *entry, t record.Trial, err error) {
	if e, err = v.ofTrial(ctx, id); err != nil {
		return nil, t, err
	}
	if found := e.readOpen(func(x *change.Experiment) { t, _ = x.Trial(id) }); !found {
		d, _, err := record.Docs().Trials.Get(ctx, v.cfg.Store, record.Key(id))
		if err != nil {
			return nil, t, fmt.Errorf("read trial %d: %w", id, err)
		}
		t = d.Value
	}
	if t.ID == 0 { // it was deleted meanwhile
		return nil, t, status.Missing("trial", strconv.Itoa(int(id)))
	}
	return e, t, nil
}

// Owner is the user whose experiment a trial belongs to. The error has the code NotFound.
func (v *views) Owner(ctx context.Context, trial int32) (userID int32, err error) {
	e, err := v.ofTrial(ctx, trial)
	if err != nil {
		return 0, err
	}
	return e.snapshot().UserID, nil
}

// History is the events of an experiment, the oldest first. The error has the code NotFound.
func (v *views) History(ctx context.Context, id int32) ([]record.Event, error) {
	if _, err := v.reg.find(id); err != nil {
		return nil, err
	}
	search, others := record.EventParents(id)
	return readEvents(ctx, v.cfg.Store, search, others)
}

// ModelDefinition is the packed files of an experiment in parts, and their size in bytes, 0 for none.
// The error has the code NotFound.
func (v *views) ModelDefinition(ctx context.Context, id int32) (int64, iter.Seq2[[]byte, error], error) {
	e, err := v.reg.find(id)
	if err != nil {
		return 0, nil, err
	}
	size := e.snapshot().ModelBytes
	return size, definition.Read(ctx, v.cfg.Store, id, size), nil
}
