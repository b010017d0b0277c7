package lifecycle

import (
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// PauseState is how far a task is with a pause. A pause is stored with the task, and a task that rests has
// no allocation in the resource manager.
//
//	           ┌────── Resume ──────┐
//	           ▼                    │
//	ACTIVE ──Pause──▶ STOPPING ──its allocation ends──▶ RESTING
//	  ▲ │               │                                │   │
//	  │ └───────────────┴──▶ the task ends ◀──── Kill ───┘   │
//	  └── the next allocation is queued ◀────── Resume ──────┘
//
// An allocation that was asked to stop for a pause stops even if the task was resumed meanwhile, and is
// then followed by the next one at once. A program that reaches its own end instead ends its task.
type PauseState string

// Pause states.
const (
	Active   PauseState = "ACTIVE"
	Stopping PauseState = "STOPPING"
	Resting  PauseState = "RESTING"
)

// PauseState returns the state of a task that has not ended, whose last allocation is given.
func (t *Task) PauseState(last *Allocation) PauseState {
	switch {
	case !t.Paused || !t.Ended.IsZero():
		return Active
	case last.State == Terminated:
		return Resting
	}
	return Stopping
}

// Pause records that a user pauses the task. Repeated, it changes nothing; neither does it for an
// allocation that is being killed, because its task ends.
func (t Task) Pause(last Allocation, user string, at time.Time) (Task, Allocation) {
	if t.Paused || !t.Ended.IsZero() || last.Killed != nil || last.Over() {
		return t, last
	}
	t.Paused = true
	if last.Pause == nil {
		last.Pause = &Stop{Reason: "paused by user " + user, At: at, User: user}
	}
	return t, last
}

// Resume records that the task is not paused any more. It returns the allocation that follows if the task
// rests, and false if its last one has yet to end.
func (t Task) Resume(last Allocation, at time.Time) (_ Task, next Allocation, queued bool) {
	rests := t.PauseState(&last) == Resting
	t.Paused = false
	if !rests {
		return t, last, false
	}
	return t, last.Next(t, at), true
}

// KillPaused ends a resting task whose last allocation is given, on behalf of a user.
func (t Task) KillPaused(last Allocation, user string, at time.Time) (Task, Allocation) {
	if t.PauseState(&last) != Resting {
		return t, last
	}
	ended := Ending{At: at, Cause: rm.CauseKilled, Status: "killed by user " + user}
	last.Killed, last.End = &Stop{Reason: ended.Status, At: at, User: user}, &ended
	last.addMessage(at, levelInfo, "killed: %s", ended.Status)
	t.Ended, t.Paused = at, false
	return t, last
}

// MustPause returns the reason why the allocation has to be asked to stop for a pause, and reports whether
// it was not asked to stop yet. Like that of Doomed, the result stays the same until it was.
func (a Allocation) MustPause() (reason string, must bool) {
	if a.Pause == nil || a.Over() || a.Killed != nil || a.Preempted != nil {
		return "", false
	}
	return a.Pause.Reason, true
}

// Rest records that no allocation follows until the task is resumed.
func (a Allocation) Rest(at time.Time) Allocation {
	a.addMessage(at, levelInfo, "%s is paused", a.Name)
	return a
}
