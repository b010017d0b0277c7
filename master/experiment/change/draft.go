package change

import (
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Draft collects the changes of an experiment for one transaction; it may include several jobs. If a
// draft cannot be stored after its search has decided something, the experiment must be loaded
// again. Callers read and store the draft; its parts Requests, Runs, Reports and Elsewhere change
// it.
type Draft struct {
	Record record.Experiment
	// Config is nil if the configuration does not change.
	Config *config.Experiment
	// Events are the new events.
	Events []record.Event

	x      *Experiment
	before record.Experiment
	now    time.Time
	newID  func() (int32, error)
	by     string
	trials trials
	// given holds the hyperparameters of new unmanaged trials.
	given     map[int32]map[string]any
	decisions decisions
	undo      undo
}

// undo holds the values from before the latest job.
type undo struct {
	record record.Experiment
	config *config.Experiment
	events int
}

// Draft starts a draft. The function newID returns the ID of a new trial.
func (x *Experiment) Draft(now time.Time, newID func() (int32, error)) *Draft {
	d := &Draft{Record: x.Record, x: x, before: x.Record, now: now, newID: newID, given: map[int32]map[string]any{}}
	d.trials = trials{x: x, changed: map[int32]record.Trial{}}
	d.decisions.d = d
	return d
}

// Begin starts a job for a user, or for no user if by is empty. Undo reverts the job.
func (d *Draft) Begin(by string) {
	d.by, d.decisions.made = by, false
	d.undo = undo{record: d.Record, config: d.Config, events: len(d.Events)}
	d.trials.begin()
}

// Undo reverts the changes since Begin. It reports false, and changes nothing, if the search has
// decided something since.
func (d *Draft) Undo() bool {
	if d.decisions.made {
		return false
	}
	d.decisions.inbox = nil
	d.Record, d.Config, d.Events = d.undo.record, d.undo.config, d.Events[:d.undo.events]
	d.trials.takeBack()
	return true
}

// Before returns the stored record.
func (d *Draft) Before() record.Experiment { return d.before }

// Opens reports whether the experiment is new or was reopened.
func (d *Draft) Opens() bool {
	return !d.Record.State.Over() && (d.before.Events == 0 || d.before.State.Over())
}

// Settings returns the configuration including changes of the draft.
func (d *Draft) Settings() config.Experiment {
	if d.Config != nil {
		return *d.Config
	}
	return d.x.Config
}

// Trial returns a trial including changes of the draft.
func (d *Draft) Trial(id int32) (record.Trial, bool) { return d.trials.get(id) }

// TrialOfTask returns the trial that a task runs.
func (d *Draft) TrialOfTask(task string) (record.Trial, bool) {
	t, found := d.x.TrialOfTask(task)
	if !found {
		return t, false
	}
	return d.Trial(t.ID)
}

// Changed returns the changed and created trials, ordered by ID.
func (d *Draft) Changed() []record.Trial { return d.trials.sorted() }

// Created returns the IDs of the trials that the draft creates.
func (d *Draft) Created() []int32 { return d.trials.created }

// note adds an event.
func (d *Draft) note(e record.Event) {
	d.Record.Events++
	e.Number, e.At = d.Record.Events, d.now
	d.Events = append(d.Events, e)
}
