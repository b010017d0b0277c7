package change

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Start creates the first trials.
func (d *Draft) Start() error {
	d.note(record.Event{Kind: record.Created, By: d.by, State: d.Record.State})
	d.inbox = append(d.inbox, news{input: search.Input{News: search.Started}})
	return d.settle()
}

// Ask carries out a request. What is so already stays; the error says why a request cannot be.
func (d *Draft) Ask(r lifecycle.Request, reason string) error {
	if err := d.move(r, reason); err != nil {
		return err
	}
	if r == lifecycle.Cancel || r == lifecycle.Kill {
		for _, t := range d.all() {
			d.forgetSilence(t)
		}
	}
	return d.settle()
}

// move takes an experiment and its trials to the state that a request leads to.
func (d *Draft) move(r lifecycle.Request, reason string) error {
	to, err := lifecycle.Ask(d.Record.State, r)
	if err != nil || to == d.Record.State {
		return err
	}
	d.Record.State = to
	if to == lifecycle.StoppingError || to == lifecycle.Deleting {
		d.Record.Failure = reason
	}
	d.note(record.Event{Kind: record.Asked, By: d.by, Request: r, State: to, Reason: reason})
	if to == lifecycle.Deleting {
		return nil
	}
	for _, t := range d.all() {
		if t.Life.State.Over() {
			continue
		}
		if d.Record.Unmanaged {
			t = d.leave(t)
		}
		t.Life = t.Life.Follow(to)
		d.setTrial(t)
	}
	return nil
}

// EndDeletion notes how a deletion ended; reason is why it failed, empty for one that did not.
func (d *Draft) EndDeletion(reason string) error {
	to, err := lifecycle.EndDeletion(d.Record.State, reason == "")
	if err != nil {
		return err
	}
	d.Record.State, d.Record.Failure = to, reason
	d.note(record.Event{Kind: record.StateChanged, State: to, Reason: reason})
	return nil
}

// forgetSilence lets no word of its program continue a trial elsewhere that a user has ended.
func (d *Draft) forgetSilence(t record.Trial) {
	if t.Silent {
		t.Silent, t.Life.State, t.Reason = false, lifecycle.Canceled, "it was ended by "+d.by
		d.put(t)
	}
}

// KillTrial ends one trial.
func (d *Draft) KillTrial(id int32) error {
	t, found := d.Trial(id)
	if found {
		d.forgetSilence(t)
	}
	if !found || t.Life.State.Over() || t.Life.State == lifecycle.StoppingKilled {
		return nil
	}
	if d.Record.Unmanaged {
		t = d.leave(t)
	}
	t.Life = t.Life.Stop(lifecycle.StoppingKilled)
	d.note(record.Event{Kind: record.Asked, By: d.by, Request: lifecycle.Kill, Trial: id, Run: t.Life.Run})
	d.setTrial(t)
	return d.settle()
}

// Change notes a setting that was changed.
func (d *Draft) Change(what string) {
	d.note(record.Event{Kind: record.Changed, By: d.by, Reason: what})
}

// Settings is the configuration as the draft has it.
func (d *Draft) Settings() config.Experiment {
	if d.Config != nil {
		return *d.Config
	}
	return d.x.Config
}

// RetainLogs notes how long the logs of trials are kept, of all when none is named.
func (d *Draft) RetainLogs(days int, trials ...int32) {
	for _, t := range d.all() {
		if len(trials) == 0 || slices.Contains(trials, t.ID) {
			t.LogDays = &days
			d.put(t)
		}
	}
}
