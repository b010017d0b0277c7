package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// settle tells the search what it has to know, until nothing more follows, ends the experiment when
// it is over, and begins the runs that are wanted.
func (d *Draft) settle() error {
	for len(d.inbox) > 0 {
		n := d.inbox[0]
		d.inbox = d.inbox[1:]
		if d.x.search == nil || d.Record.State.Stopping() {
			continue
		}
		if err := d.tellSearch(n); err != nil {
			return err
		}
	}
	if err := d.finish(); err != nil {
		return err
	}
	d.beginRuns()
	return nil
}

// Seal makes the draft ready to be stored.
func (d *Draft) Seal() { d.Record.Progress = d.progress() }

// tellSearch notes a piece of news of the search with its decision, unless it changes nothing.
func (d *Draft) tellSearch(n news) error {
	decision, err := d.x.search.Decide(n.input)
	if err != nil {
		return fmt.Errorf("experiment %d: %w", d.Record.ID, err)
	}
	if n.input.News == search.Validated && len(decision.Actions) == 0 {
		return nil
	}
	d.searched = true
	draws := d.x.search.Draws()
	if err := d.x.search.Apply(n.input, decision); err != nil {
		return fmt.Errorf("experiment %d: %w", d.Record.ID, err)
	}
	e := record.Event{Kind: record.Searched, Steps: n.steps, Search: &search.Event{Input: n.input, Decision: decision}}
	if t, found := d.numbered(n.input.Trial); found {
		e.Trial, e.Run = t.ID, t.Life.Run
	}
	at := len(d.Events)
	d.note(e)
	for _, a := range decision.Actions {
		id, err := d.carryOut(a)
		if err != nil {
			return err
		}
		if id != 0 {
			d.Events[at].Trials = append(d.Events[at].Trials, id)
		}
	}
	if ids := d.Events[at].Trials; len(ids) > 0 {
		d.drawn = append(d.drawn, drawn{from: draws, actions: decision.Actions, ids: ids})
	}
	return nil
}

// carryOut does what the search decided, and returns the id of a new trial. A rank and a drop are the
// search's own, and finish looks after its end.
func (d *Draft) carryOut(a search.Action) (int32, error) {
	switch a.Kind {
	case search.CreateTrial:
		return d.createTrial(a.Trial, *a.Create)
	case search.StopTrial:
		if t, found := d.numbered(a.Trial); found {
			t.Stopped, t.Reason = true, a.Reason
			t.Life = t.Life.Stop(lifecycle.StoppingCompleted)
			d.setTrial(t)
		}
	case search.RankTrial, search.DropTrial, search.FinishSearch:
	}
	return 0, nil
}

// finish ends an experiment whose search is over and whose trials have ended, and one that was
// stopping.
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

// isOver says that no trial is to come: the search says so, and elsewhere the programs, by having ended.
func (d *Draft) isOver() bool {
	if d.x.search == nil {
		return d.Record.Unmanaged && d.Record.Trials > 0
	}
	return d.x.search.Outcome() != ""
}

// outcome is how an experiment ends whose trials have ended.
func (d *Draft) outcome() (lifecycle.Request, string) {
	ends := map[lifecycle.State]int{}
	var last string
	all := d.all()
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

// progress is how much of the experiment is done.
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
		t, _ := d.numbered(number)
		return t.Progress
	})
}
