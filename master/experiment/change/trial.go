package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// setTrial stores a trial in the draft and handles its end.
func (d *Draft) setTrial(t record.Trial) {
	if t.Life.State.Over() && t.Ended.IsZero() {
		t.Ended = d.now
		t.Reason = d.x.rules.endReason(t)
		d.Record.Open--
		// Trials that end with the experiment are not reported to the search, which would replace
		// them.
		if !t.Told && t.Number > 0 && !d.Record.State.Stopping() {
			t.Told = true
			d.decisions.queue(search.Input{News: search.Ended, Trial: t.Number, End: endOf(t)}, 0)
		}
	}
	d.trials.put(t)
}

// endReason returns the reason for the end of a trial, and why the search could not compare it.
func (r rules) endReason(t record.Trial) string {
	c := r.search
	if t.Latest != nil || t.Number == 0 || !c.Halving() || t.Life.State != lifecycle.Completed || t.Life.Invalid() {
		return t.Reason
	}
	return fmt.Sprintf("%s; it was not compared with others, because it reported no validation metric %q", t.Reason, c.Metric)
}

// endOf converts the end of a trial to the terms of package search.
func endOf(t record.Trial) search.End {
	switch {
	case t.Life.State == lifecycle.Error:
		return search.Failed
	case t.Life.State == lifecycle.Canceled:
		return search.Canceled
	case t.Life.Invalid():
		return search.Invalid
	}
	return search.Completed
}

// addTrial adds a trial. Trials are ordered by their creation time, which therefore never decreases
// even if the clock was set back.
func (d *Draft) addTrial(t record.Trial) {
	if last, found := d.trials.last(); found && t.Created.Before(last.Created) {
		t.Created = last.Created
	}
	d.trials.created = append(d.trials.created, t.ID)
	d.Record.Trials++
	d.Record.Open++
	d.setTrial(t)
}
