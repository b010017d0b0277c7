package change

import (
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Draft is what an experiment is about to become. Several pieces of news may go into one. Once the search
// was told of something, a draft that is not stored leaves the experiment without use: it is to be loaded
// again. The draft itself is read and stored; its parts Requests, Runs, Reports and Elsewhere change it, each for one
// kind of news.
type Draft struct {
	Record record.Experiment
	// Config is nil when it stays.
	Config *config.Experiment
	// Events are new.
	Events []record.Event

	x      *Experiment
	before record.Experiment
	now    time.Time
	newID  func() (int32, error)
	by     string
	trials trials
	// given has the hyperparameters of new trials that programs elsewhere gave.
	given     map[int32]map[string]any
	decisions decisions
	undo      undo
}

// undo is what a draft was before its latest piece of news.
type undo struct {
	record record.Experiment
	config *config.Experiment
	events int
}

// Draft begins a draft. NewID numbers trials.
func (x *Experiment) Draft(now time.Time, newID func() (int32, error)) *Draft {
	d := &Draft{Record: x.Record, x: x, before: x.Record, now: now, newID: newID, given: map[int32]map[string]any{}}
	d.trials = trials{x: x, changed: map[int32]record.Trial{}}
	d.decisions.d = d
	return d
}

// Begin starts a piece of news of a user, or of none; Undo takes it back.
func (d *Draft) Begin(by string) {
	d.by, d.decisions.made = by, false
	d.undo = undo{record: d.Record, config: d.Config, events: len(d.Events)}
	d.trials.begin()
}

// Undo makes the draft what it was at Begin, and reports whether that was possible: it is not once the
// search was told of something since.
func (d *Draft) Undo() bool {
	if d.decisions.made {
		return false
	}
	d.decisions.inbox = nil
	d.Record, d.Config, d.Events = d.undo.record, d.undo.config, d.Events[:d.undo.events]
	d.trials.takeBack()
	return true
}

// Before is the experiment as it was stored last.
func (d *Draft) Before() record.Experiment { return d.before }

// Opens says that the experiment is new, or runs again.
func (d *Draft) Opens() bool {
	return !d.Record.State.Over() && (d.before.Events == 0 || d.before.State.Over())
}

// Settings is the configuration as the draft has it.
func (d *Draft) Settings() config.Experiment {
	if d.Config != nil {
		return *d.Config
	}
	return d.x.Config
}

// Trial is a trial as the draft has it.
func (d *Draft) Trial(id int32) (record.Trial, bool) { return d.trials.get(id) }

// TrialOfTask is the trial that a task runs.
func (d *Draft) TrialOfTask(task string) (record.Trial, bool) {
	t, found := d.x.TrialOfTask(task)
	if !found {
		return t, false
	}
	return d.Trial(t.ID)
}

// Changed is the trials that the draft changes or creates, by id.
func (d *Draft) Changed() []record.Trial { return d.trials.sorted() }

// Created is the ids of the trials that the draft creates.
func (d *Draft) Created() []int32 { return d.trials.created }

// note adds an event.
func (d *Draft) note(e record.Event) {
	d.Record.Events++
	e.Number, e.At = d.Record.Events, d.now
	d.Events = append(d.Events, e)
}
