package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// settle passes pending inputs to the search, ends the experiment if it is over, and starts the
// wanted runs.
func (d *Draft) settle() error {
	if err := d.decisions.settle(); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	d.Runs().begin()
	return nil
}

// Seal completes the draft before it is stored.
func (d *Draft) Seal() { d.Record.Progress = d.progress() }

// move changes the state of an experiment and its trials as requested.
func (d *Draft) move(r lifecycle.Request, reason string) error {
	to, err := lifecycle.Ask(d.Record.State, r)
	if err != nil {
		return fmt.Errorf("cannot %s experiment %d: %w", r, d.Record.ID, err)
	}
	if to == d.Record.State {
		return nil
	}
	d.Record.State = to
	if to == lifecycle.StoppingError || to == lifecycle.Deleting {
		d.Record.Failure = reason
	}
	d.noteStop(to, reason)
	d.note(record.Event{Kind: record.Asked, By: d.by, Request: r, State: to, Reason: reason})
	if to == lifecycle.Deleting {
		return nil
	}
	for _, t := range d.trials.all() {
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

// noteStop records who cancels or kills an experiment. A kill follows a cancellation that takes too long.
func (d *Draft) noteStop(to lifecycle.State, reason string) {
	switch {
	case to != lifecycle.StoppingCanceled && to != lifecycle.StoppingKilled:
	case reason != "":
		d.Record.EndedBy, d.Record.EndReason = "", reason
	case to == lifecycle.StoppingKilled:
		d.Record.EndedBy, d.Record.EndReason = d.by, "killed by user "+d.by
	default:
		d.Record.EndedBy, d.Record.EndReason = d.by, "canceled by user "+d.by
	}
}

// leave detaches an unmanaged trial from its program, which the cluster cannot stop.
func (d *Draft) leave(t record.Trial) record.Trial {
	t = pauseClock(t, d.now)
	t.Life.Running, t.Reason = false, "ended by "+d.by
	return t
}

// finish ends an experiment whose search and trials have ended, or that was stopping and has no open
// trials.
func (d *Draft) finish() error {
	running := d.Record.State == lifecycle.Active || d.Record.State == lifecycle.Paused
	if running && d.Record.Open == 0 && d.isOver() {
		r, reason := d.outcome()
		if err := d.move(r, reason); err != nil {
			return err
		}
	}
	if to := lifecycle.Close(d.Record.State, d.Record.Open); to != d.Record.State {
		d.Record.State, d.Record.Ended = to, d.now
		d.note(record.Event{Kind: record.StateChanged, State: to})
	}
	return nil
}

// isOver reports whether no more trials are expected: the search has ended, or the experiment is
// unmanaged and has trials.
func (d *Draft) isOver() bool {
	if d.x.search == nil {
		return d.Record.Unmanaged && d.Record.Trials > 0
	}
	return d.x.search.Outcome() != ""
}

// outcome returns the request that ends an experiment without open trials, and its reason.
func (d *Draft) outcome() (lifecycle.Request, string) {
	ends := map[lifecycle.State]int{}
	var last string
	all := d.trials.all()
	for _, t := range all {
		ends[t.Life.State]++
		if t.Life.State == lifecycle.Error {
			last = fmt.Sprintf("trial %d: %s", t.ID, t.Reason)
		}
	}
	switch len(all) {
	case ends[lifecycle.Error]:
		if len(all) == 1 {
			return lifecycle.Fail, last
		}
		return lifecycle.Fail, fmt.Sprintf("all %d trials failed; %s", len(all), last)
	case ends[lifecycle.Canceled]:
		return lifecycle.Cancel, "all trials were killed"
	}
	return lifecycle.Finish, ""
}

// progress returns the progress of the experiment between 0 and 1.
func (d *Draft) progress() float64 {
	switch {
	case d.Record.State == lifecycle.Completed:
		return 1
	case d.Record.Unmanaged && !d.x.light:
		return d.progressElsewhere()
	case d.x.search == nil:
		return d.Record.Progress
	}
	return d.x.search.Progress(func(number int) float64 {
		t, _ := d.trials.numbered(number)
		return t.Progress
	})
}

// progressElsewhere returns the reported progress of a single trial, or the share of ended trials.
func (d *Draft) progressElsewhere() float64 {
	if d.Record.Trials == 1 {
		return d.trials.all()[0].Progress
	}
	return float64(d.Record.Trials-d.Record.Open) / float64(max(d.Record.Trials, 1))
}
