package experiment

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// TrialView is a trial with its displayed state.
type TrialView struct {
	record.Trial
	Shown string
}

// TrialQuery selects a page of the trials of an experiment.
type TrialQuery struct {
	// Choose filters and sorts the trials. Nil keeps all in the order of their IDs; then only the
	// trials of the page are read.
	Choose     func([]TrialView) []TrialView
	Descending bool
	// Cut returns the range of the page, given the number of matching trials.
	Cut func(total int) (from, to int)
}

// TrialPage returns a page of the trials of an experiment, or NotFound.
func (v *views) TrialPage(ctx context.Context, id int32, q TrialQuery) ([]TrialView, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return nil, err
	}
	if q.Choose == nil {
		trials, err := v.cutTrials(ctx, e, q)
		return v.trialViews(e, trials), err
	}
	trials, err := v.allTrials(ctx, e)
	if err != nil {
		return nil, err
	}
	chosen := q.Choose(v.trialViews(e, trials))
	from, to := q.Cut(len(chosen))
	return chosen[from:to], nil
}

// Trials returns all trials of an experiment ordered by ID, or NotFound.
func (v *views) Trials(ctx context.Context, id int32) ([]TrialView, error) {
	return v.TrialPage(ctx, id, TrialQuery{Choose: all, Cut: func(total int) (from, to int) { return 0, total }})
}

func all(list []TrialView) []TrialView { return list }

// cutTrials returns a page of the trials in the order of their IDs.
func (v *views) cutTrials(ctx context.Context, e *entry, q TrialQuery) (trials []record.Trial, err error) {
	total := e.stored().Trials
	from, to := q.Cut(total)
	if q.Descending {
		from, to = total-to, total-from
	}
	if !e.readOpen(func(x *change.Experiment) { trials = x.TrialsFrom(from, to-from) }) {
		trials, err = v.storedTrials(ctx, e.id, from, to-from)
	}
	if q.Descending {
		slices.Reverse(trials)
	}
	return trials, err
}

// storedTrials returns a page of the trials of an ended experiment.
func (v *views) storedTrials(ctx context.Context, id int32, from, n int) ([]record.Trial, error) {
	docs, err := record.Docs().Trials.PageByParent(ctx, v.cfg.Store, record.Key(id), from, n)
	if err != nil {
		return nil, fmt.Errorf("read the trials of experiment %d: %w", id, err)
	}
	return values(docs), nil
}

func (v *views) allTrials(ctx context.Context, e *entry) (trials []record.Trial, err error) {
	if e.readOpen(func(x *change.Experiment) { trials = x.Trials() }) {
		return trials, nil
	}
	docs, err := record.Docs().Trials.ByParent(ctx, v.cfg.Store, record.Key(e.id))
	if err != nil {
		return nil, fmt.Errorf("read the trials of experiment %d: %w", e.id, err)
	}
	return values(docs), nil
}

func (v *views) trialViews(e *entry, trials []record.Trial) []TrialView {
	x := e.snapshot()
	out := make([]TrialView, len(trials))
	for i, t := range trials {
		out[i] = v.trialView(x, t)
	}
	return out
}

// TrialIDs returns the IDs of the trials of an experiment in ascending order, or NotFound.
func (v *views) TrialIDs(ctx context.Context, id int32) (ids []int32, err error) {
	e, err := v.reg.find(id)
	if err != nil || e.readOpen(func(x *change.Experiment) { ids = x.TrialIDs() }) {
		return ids, err
	}
	keys, err := record.Docs().Trials.IDsByParent(ctx, v.cfg.Store, record.Key(id))
	if err != nil {
		return nil, fmt.Errorf("read the trials of experiment %d: %w", id, err)
	}
	for _, key := range keys {
		n, err := record.ReadKey(key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, n)
	}
	return ids, nil
}

func (v *views) trialView(x record.Experiment, t record.Trial) TrialView {
	if x.Unmanaged && t.Life.State == lifecycle.Active && t.Life.Run == 0 {
		return TrialView{Trial: t, Shown: string(lifecycle.Starting)}
	}
	var running []lifecycle.Progress
	if t.Life.State == lifecycle.Active && t.Life.Running {
		running = v.progressOf(change.RunOf(t))
	}
	return TrialView{Trial: t, Shown: v.show(&x, t.Life.State, running)}
}

// Trial returns a trial, or NotFound.
func (v *views) Trial(ctx context.Context, id int32) (TrialView, error) {
	e, t, err := v.readTrial(ctx, id)
	if err != nil {
		return TrialView{}, err
	}
	return v.trialView(e.snapshot(), t), nil
}

// TrialTasks returns the owner and the tasks of a trial, or NotFound. It reads only this trial,
// because it is called for every report to authorize the program.
func (v *views) TrialTasks(ctx context.Context, id int32) (record.TrialTasks, error) {
	e, t, err := v.readTrial(ctx, id)
	if err != nil {
		return record.TrialTasks{}, err
	}
	return record.TrialTasks{Experiment: t.Experiment, Owner: e.snapshot().UserID, Tasks: t.Tasks, Ended: t.Life.State.Over()}, nil
}

// readTrial returns a trial from memory or from the store.
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
	if t.ID == 0 { // deleted concurrently
		return nil, t, status.Missing("trial", strconv.Itoa(int(id)))
	}
	return e, t, nil
}

// Owner returns the ID of the user who owns a trial's experiment, or NotFound.
func (v *views) Owner(ctx context.Context, trial int32) (userID int32, err error) {
	e, err := v.ofTrial(ctx, trial)
	if err != nil {
		return 0, err
	}
	return e.snapshot().UserID, nil
}
