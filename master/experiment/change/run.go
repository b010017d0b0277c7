package change

import (
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Runs applies the progress of runs to a draft.
type Runs struct{ d *Draft }

// Runs returns the part of the draft for runs.
func (d *Draft) Runs() Runs { return Runs{d} }

// Place records the allocation in which a run was scheduled.
func (r Runs) Place(id int32, run int, allocation string) {
	t, found := r.d.Trial(id)
	if !found || !t.Life.Running || t.Life.Run != run || t.Allocation == allocation {
		return
	}
	t.Allocation = allocation
	if t.RunBegan.IsZero() {
		t.RunBegan = r.d.now
	}
	r.d.trials.put(t)
}

// End records the end of a run and returns the decision about the next one. A repeated call returns
// the same decision.
func (r Runs) End(id int32, run int, e lifecycle.RunEnd) (lifecycle.Verdict, error) {
	t, found := r.d.Trial(id)
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
	life, _, why := t.Life.EndRun(e, r.d.x.rules.maxRestarts)
	t = pauseClock(t, r.d.now)
	t.Life = life
	if !t.Stopped || life.State == lifecycle.Error {
		t.Reason = why
	}
	at := len(r.d.Events)
	r.d.note(record.Event{Kind: record.RunEnded, Trial: id, Run: run, Cause: e.Cause, Reason: why})
	r.d.setTrial(t)
	if err := r.d.settle(); err != nil {
		return "", err
	}
	t, _ = r.d.Trial(id)
	t.LastEnd = &record.EndedRun{Run: run, Next: verdictOf(t, run)}
	r.d.Events[at].Next = t.LastEnd.Next
	r.d.trials.put(t)
	return t.LastEnd.Next, nil
}

// verdictOf returns the decision after the end of a run, derived from the state of the trial.
func verdictOf(t record.Trial, run int) lifecycle.Verdict {
	switch {
	case t.Life.State.Over():
		return lifecycle.Done
	case t.Life.Running && t.Life.Run > run:
		return lifecycle.Again
	}
	return lifecycle.Held
}

// Match records that a log line of a run matched a log policy.
func (r Runs) Match(id int32, m record.Match) {
	t, found := r.d.Trial(id)
	if !found || m.Run != t.Life.Run {
		return
	}
	if old := t.Matched; old != nil && old.Run == m.Run { // several policies or nodes of one run
		m = m.Join(*old)
		if m.Equal(*old) {
			return
		}
	}
	t.Matched = &m
	r.d.note(record.Event{Kind: record.Reported, Trial: id, Run: m.Run, Reason: "a log line matched the log policy " + m.Policy})
	r.d.trials.put(t)
}

// begin starts the wanted runs.
func (r Runs) begin() {
	if r.d.Record.Unmanaged {
		return
	}
	for _, t := range r.d.Changed() {
		if t.Life.Wanted(r.d.now) != lifecycle.Start {
			continue
		}
		t.Life = t.Life.Begin()
		t.Base, t.Progress, t.RunnerState, t.Allocation = 0, 0, "", ""
		if t.Life.Latest != "" {
			t.Base = t.LatestSteps
		}
		r.d.trials.put(t)
		e := record.Event{Kind: record.RunBegan, Trial: t.ID, Run: t.Life.Run}
		if from := t.Life.Checkpoint(); from != "" {
			e.Reason = "from checkpoint " + from
		}
		r.d.note(e)
	}
}

// pauseClock adds the duration of the current run, which ends now, to that of the earlier ones.
func pauseClock(t record.Trial, now time.Time) record.Trial {
	if !t.RunBegan.IsZero() {
		t.Trained += max(0, now.Sub(t.RunBegan))
	}
	t.RunBegan = time.Time{}
	return t
}
