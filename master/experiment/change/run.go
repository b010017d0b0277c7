package change

import (
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// PlaceRun notes that a run was given its machines, in that allocation.
func (d *Draft) PlaceRun(id int32, run int, allocation string) {
	t, found := d.Trial(id)
	if !found || !t.Life.Running || t.Life.Run != run || t.Allocation == allocation {
		return
	}
	t.Allocation = allocation
	if t.RunBegan.IsZero() {
		t.RunBegan = d.now
	}
	d.put(t)
}

// EndRun notes the end of a run and says what follows, the same for as often as it is asked.
func (d *Draft) EndRun(id int32, run int, e lifecycle.RunEnd) (lifecycle.Verdict, error) {
	t, found := d.Trial(id)
	switch {
	case !found:
		return lifecycle.Done, nil
	case t.LastEnd != nil && t.LastEnd.Run == run:
		return t.LastEnd.Next, nil
	case run < t.Life.Run:
		return lifecycle.Again, nil
	case !t.Life.Running:
		return verdictOf(t, run), nil
	}
	if m := t.Matched; m != nil && m.Run == run {
		e.NoRetry, e.Excluded = m.NoRetry, m.Excluded
	}
	life, _, why := t.Life.EndRun(e, d.x.rules.maxRestarts)
	if !t.RunBegan.IsZero() {
		t.Trained += max(0, d.now.Sub(t.RunBegan))
	}
	t.Life, t.RunBegan = life, time.Time{}
	if !t.Stopped || life.State == lifecycle.Error {
		t.Reason = why
	}
	at := len(d.Events)
	d.note(record.Event{Kind: record.RunEnded, Trial: id, Run: run, Cause: e.Cause, Reason: why})
	d.setTrial(t)
	if err := d.settle(); err != nil {
		return "", err
	}
	t, _ = d.Trial(id)
	t.LastEnd = &record.EndedRun{Run: run, Next: verdictOf(t, run)}
	d.Events[at].Next = t.LastEnd.Next
	d.put(t)
	return t.LastEnd.Next, nil
}

// verdictOf is what follows the end of a run, by what the trial has become.
func verdictOf(t record.Trial, run int) lifecycle.Verdict {
	switch {
	case t.Life.State.Over():
		return lifecycle.Done
	case t.Life.Running && t.Life.Run > run:
		return lifecycle.Again
	}
	return lifecycle.Held
}

// Match notes that a line of a run matched a log policy.
func (d *Draft) Match(id int32, m record.Match) {
	t, found := d.Trial(id)
	if !found || m.Run != t.Life.Run {
		return
	}
	if old := t.Matched; old != nil && old.Run == m.Run { // several policies or machines of one run
		m = m.Join(*old)
		if m.Equal(*old) {
			return
		}
	}
	t.Matched = &m
	d.note(record.Event{Kind: record.Reported, Trial: id, Run: m.Run, Reason: "a line matched the log policy " + m.Policy})
	d.put(t)
}
