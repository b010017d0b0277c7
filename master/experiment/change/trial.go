package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// setTrial notes a trial, and what follows when it has ended.
func (d *Draft) setTrial(t record.Trial) {
	if t.Life.State.Over() && t.Ended.IsZero() {
		t.Ended = d.now
		t.Reason = d.x.rules.endReason(t)
		d.Record.Open--
		// What ends because the whole experiment does is kept from the search, which would start
		// others in its place.
		if !t.Told && t.Number > 0 && !d.Record.State.Stopping() {
			t.Told = true
			d.decisions.queue(search.Input{News: search.Ended, Trial: t.Number, End: endOf(t)}, 0)
		}
	}
	d.trials.put(t)
}

// endReason is why a trial ended, with what kept the search from comparing it.
func (r rules) endReason(t record.Trial) string {
	c := r.search
	if t.Latest != nil || t.Number == 0 || !c.Halving() || t.Life.State != lifecycle.Completed || t.Life.Invalid() {
		return t.Reason
	}
	return fmt.Sprintf("%s; it was not compared with others, because it reported no validation metric %q", t.Reason, c.Metric)
}

// endOf is a trial's end in the words of the search.
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

// addTrial adds a trial behind all others, which are listed in the order of their creation: also when the clock was set
// back since the last.
func (d *Draft) addTrial(t record.Trial) {
	if last, found := d.trials.last(); found && t.Created.Before(last.Created) {
		t.Created = last.Created
	}
	d.trials.created = append(d.trials.created, t.ID)
	d.Record.Trials++
	d.Record.Open++
	d.setTrial(t)
}
