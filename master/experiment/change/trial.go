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
		t.Reason = d.endReason(t)
		d.Record.Open--
		d.ended = append(d.ended, t.ID)
		// What ends because the whole experiment does is kept from the search, which would start
		// others in its place.
		if !t.Told && t.Number > 0 && !d.Record.State.Stopping() {
			t.Told = true
			d.inbox = append(d.inbox, news{input: search.Input{News: search.Ended, Trial: t.Number, End: endOf(t)}})
		}
	}
	d.put(t)
}

// endReason is why a trial ended, with what kept the search from comparing it.
func (d *Draft) endReason(t record.Trial) string {
	c := d.x.rules.search
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

// createTrial makes a trial that the search wants.
func (d *Draft) createTrial(number int, c search.Create) (int32, error) {
	id, err := d.newID()
	if err != nil {
		return 0, err
	}
	t := record.Trial{
		ID: id, Experiment: d.Record.ID, Number: number, RequestID: c.RequestID, Seed: c.Seed,
		Tasks: []string{fmt.Sprintf("%d.%s", d.Record.ID, c.RequestID)}, Created: d.now,
		Life: lifecycle.NewTrial(d.Record.State, d.Record.Searcher.SourceCheckpoint),
	}
	d.addTrial(t)
	return id, nil
}

// addTrial adds a trial behind all others, which are listed in the order of their creation: also when the clock was set
// back since the last.
func (d *Draft) addTrial(t record.Trial) {
	if last, found := d.lastTrial(); found && t.Created.Before(last.Created) {
		t.Created = last.Created
	}
	d.created = append(d.created, t.ID)
	d.Record.Trials++
	d.Record.Open++
	d.setTrial(t)
}

func (d *Draft) lastTrial() (record.Trial, bool) {
	if n := len(d.created); n > 0 {
		return d.Trial(d.created[n-1])
	}
	if n := len(d.x.trials); n > 0 {
		return d.Trial(d.x.trials[n-1].ID)
	}
	return record.Trial{}, false
}

// beginRuns begins the runs that are wanted.
func (d *Draft) beginRuns() {
	if d.Record.Unmanaged {
		return
	}
	for _, t := range d.Changed() {
		if t.Life.Wanted(d.now) != lifecycle.Start {
			continue
		}
		t.Life = t.Life.Begin()
		t.Base, t.Progress, t.RunnerState, t.Allocation = 0, 0, "", ""
		if t.Life.Latest != "" {
			t.Base = t.LatestSteps
		}
		d.put(t)
		e := record.Event{Kind: record.RunBegan, Trial: t.ID, Run: t.Life.Run}
		if from := t.Life.Checkpoint(); from != "" {
			e.Reason = "from checkpoint " + from
		}
		d.note(e)
	}
}
