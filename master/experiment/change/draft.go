package change

import (
	"cmp"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Draft is what an experiment is about to become. Several pieces of news may go into one. Once the
// search was told of something, a draft that is not stored leaves the experiment without use: it is
// to be loaded again.
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
	trials map[int32]record.Trial
	// created and ended are the ids of trials that this draft creates and ends.
	created, ended []int32
	// drawn and given have the hyperparameters of new trials: those of the search, and those that programs
	// elsewhere gave.
	drawn []drawn
	given map[int32]map[string]any
	// inbox is news for the search.
	inbox    []news
	searched bool
	undo     undo
}

// news is an input of the search with what else is noted of it.
type news struct {
	input search.Input
	steps int32
}

// undo is what a draft was before its latest piece of news.
type undo struct {
	record         record.Experiment
	config         *config.Experiment
	events         int
	created, ended int
	trials         map[int32]*record.Trial
}

// Draft begins a draft. NewID numbers trials.
func (x *Experiment) Draft(now time.Time, newID func() (int32, error)) *Draft {
	return &Draft{Record: x.Record, x: x, before: x.Record, now: now, newID: newID, trials: map[int32]record.Trial{}, given: map[int32]map[string]any{}}
}

// Begin starts a piece of news of a user, or of none; Undo takes it back.
func (d *Draft) Begin(by string) {
	d.by, d.searched = by, false
	d.undo = undo{record: d.Record, config: d.Config, events: len(d.Events), created: len(d.created), ended: len(d.ended), trials: map[int32]*record.Trial{}}
}

// Undo makes the draft what it was at Begin, and says whether that was possible: it is not once the
// search was told of something since.
func (d *Draft) Undo() bool {
	if d.searched {
		return false
	}
	d.inbox = nil
	d.Record, d.Config, d.Events = d.undo.record, d.undo.config, d.Events[:d.undo.events]
	d.created, d.ended = d.created[:d.undo.created], d.ended[:d.undo.ended]
	for id, t := range d.undo.trials {
		if t == nil {
			delete(d.trials, id)
		} else {
			d.trials[id] = *t
		}
	}
	return true
}

// Before is the experiment as it was stored last.
func (d *Draft) Before() record.Experiment { return d.before }

// Opens says that the experiment is new, or runs again.
func (d *Draft) Opens() bool {
	return !d.Record.State.Over() && (d.before.Events == 0 || d.before.State.Over())
}

// Trial is a trial as the draft has it.
func (d *Draft) Trial(id int32) (record.Trial, bool) {
	if t, found := d.trials[id]; found {
		return t, true
	}
	return d.x.Trial(id)
}

// TrialOfTask is the trial that a task runs.
func (d *Draft) TrialOfTask(task string) (record.Trial, bool) {
	t, found := d.x.TrialOfTask(task)
	if !found {
		return t, false
	}
	return d.Trial(t.ID)
}

// Changed is the trials that the draft changes or creates, by id.
func (d *Draft) Changed() []record.Trial {
	out := make([]record.Trial, 0, len(d.trials))
	for _, t := range d.trials {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b record.Trial) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Created is the ids of the trials that the draft creates, Ended of those that it ends.
func (d *Draft) Created() []int32 { return d.created }

// Ended is the ids of the trials that the draft ends.
func (d *Draft) Ended() []int32 { return d.ended }

// all is every trial in the order of creation.
func (d *Draft) all() []record.Trial {
	out := d.x.Trials()
	for i, t := range out {
		if changed, found := d.trials[t.ID]; found {
			out[i] = changed
		}
	}
	for _, id := range d.created {
		out = append(out, d.trials[id])
	}
	return out
}

// numbered is the trial that the search knows by a number.
func (d *Draft) numbered(number int) (record.Trial, bool) {
	at := number - 1
	if at >= 0 && at < len(d.x.trials) {
		return d.Trial(d.x.trials[at].ID)
	}
	if at -= len(d.x.trials); at >= 0 && at < len(d.created) {
		return d.Trial(d.created[at])
	}
	return record.Trial{}, false
}

// put notes a trial.
func (d *Draft) put(t record.Trial) {
	if _, noted := d.undo.trials[t.ID]; !noted && d.undo.trials != nil {
		d.undo.trials[t.ID] = nil
		if old, found := d.trials[t.ID]; found {
			d.undo.trials[t.ID] = &old
		}
	}
	d.trials[t.ID] = t
}

// note adds an event.
func (d *Draft) note(e record.Event) {
	d.Record.Events++
	e.Number, e.At = d.Record.Events, d.now
	d.Events = append(d.Events, e)
}
