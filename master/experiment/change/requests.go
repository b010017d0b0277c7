package change

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Requests applies the requests of users to a draft.
type Requests struct{ d *Draft }

// Requests returns the part of the draft for requests.
func (d *Draft) Requests() Requests { return Requests{d} }

// Start creates the first trials.
func (q Requests) Start() error {
	q.d.note(record.Event{Kind: record.Created, By: q.d.by, State: q.d.Record.State})
	q.d.decisions.queue(search.Input{News: search.Started}, 0)
	return q.d.settle()
}

// Ask performs a request. A request that changes nothing succeeds. It returns an error if the state
// does not allow the request.
func (q Requests) Ask(r lifecycle.Request, reason string) error {
	if err := q.d.move(r, reason); err != nil {
		return err
	}
	if r == lifecycle.Cancel || r == lifecycle.Kill {
		for _, t := range q.d.trials.all() {
			q.forgetSilence(t)
		}
	}
	return q.d.settle()
}

// EndDeletion records the result of a deletion. If reason is not empty, the deletion failed.
func (q Requests) EndDeletion(reason string) error {
	to, err := lifecycle.EndDeletion(q.d.Record.State, reason == "")
	if err != nil {
		return err
	}
	q.d.Record.State, q.d.Record.Failure = to, reason
	q.d.note(record.Event{Kind: record.StateChanged, State: to, Reason: reason})
	return nil
}

// forgetSilence cancels a silent unmanaged trial that a user has ended, so that messages of its
// program do not revive it.
func (q Requests) forgetSilence(t record.Trial) {
	if t.Silent {
		t.Silent, t.Life.State, t.Reason = false, lifecycle.Canceled, "ended by "+q.d.by
		q.d.trials.put(t)
	}
}

// KillTrial kills one trial.
func (q Requests) KillTrial(id int32) error {
	t, found := q.d.Trial(id)
	if found {
		q.forgetSilence(t)
	}
	if !found || t.Life.State.Over() || t.Life.State == lifecycle.StoppingKilled {
		return nil
	}
	if q.d.Record.Unmanaged {
		t = q.d.leave(t)
	}
	t.Life = t.Life.Stop(lifecycle.StoppingKilled)
	q.d.note(record.Event{Kind: record.Asked, By: q.d.by, Request: lifecycle.Kill, Trial: id, Run: t.Life.Run})
	q.d.setTrial(t)
	return q.d.settle()
}

// Change records a changed setting.
func (q Requests) Change(what string) {
	q.d.note(record.Event{Kind: record.Changed, By: q.d.by, Reason: what})
}

// RetainLogs sets the log retention of the given trials, or of all trials if none is given.
func (q Requests) RetainLogs(days int, trials ...int32) {
	for _, t := range q.d.trials.all() {
		if len(trials) == 0 || slices.Contains(trials, t.ID) {
			t.LogDays = &days
			q.d.trials.put(t)
		}
	}
}
