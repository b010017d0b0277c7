package lifecycle

import (
	"fmt"
	"slices"
)

// Cause is the cause of the end of a run.
type Cause string

// The causes.
const (
	// Exited is a program that exited with 0.
	Exited Cause = "exited"
	// Failed is a program that exited with another code without being killed.
	Failed Cause = "failed"
	// Killed is a program that was killed on request, or by the master after it did not heed a
	// signal in time.
	Killed Cause = "killed"
	// Lost is a run that lost its machine: the machine failed, was interrupted, drained or disabled,
	// or the run was evicted or preempted.
	Lost Cause = "lost"
	// Refused is a run that cannot start: its resource pool does not exist, or it is not permitted.
	Refused Cause = "refused"
)

// Causes returns all causes.
func Causes() []Cause { return []Cause{Exited, Failed, Killed, Lost, Refused} }

// RunEnd describes the end of a run.
type RunEnd struct {
	Cause Cause
	// Heeded reports that the program acknowledged a signal to stop.
	Heeded bool
	// NoRetry reports that a log policy forbids another run after a failure.
	NoRetry bool
	// Excluded lists the nodes that log policies exclude.
	Excluded []string
	// Reason describes the cause.
	Reason string
}

// Verdict is the decision after the end of a run.
type Verdict string

// The decisions.
const (
	// Again starts another run.
	Again Verdict = "again"
	// Held starts another run after the experiment is activated.
	Held Verdict = "held"
	// Done ends the trial.
	Done Verdict = "over"
)

// ending is the effect of the end of a run: the reason, the next state, where Active means another
// run, and whether a restart is counted.
type ending struct {
	rule  string
	to    State
	count bool
}

// judgeEnd returns the effect of the end of a run. The first matching row applies:
//
//	trial, and end of the run                             next
//	to be killed                                          CANCELED
//	stopping because the experiment failed                ERROR
//	stopping otherwise, and the program did not fail      its terminal state
//	stopping otherwise, and the program failed            ERROR
//	never placed, pool deleted, refused                   ERROR
//	reported invalid hyperparameters                      COMPLETED
//	machine lost, interrupted, drained; killed on request next run, no restart counted
//	exited with 0 and heeded the signal                   next run
//	exited with 0 without heeding a signal                COMPLETED
//	failed, and a log policy has cancel_retries           ERROR
//	failed, max_restarts reached                          ERROR
//	failed                                                next run, a restart counted
func (t Trial) judgeEnd(e RunEnd, maxRestarts int) ending {
	switch {
	case t.State == StoppingKilled:
		return ending{"it was killed", Canceled, false}
	case t.State == StoppingError:
		return ending{"the experiment failed", Error, false}
	case t.State.Stopping() && e.Cause != Failed:
		return ending{"it was asked to stop", t.State.terminalState(), false}
	case t.State.Stopping():
		return ending{"it failed while stopping", Error, false}
	case e.Cause == Refused:
		return ending{"it cannot run", Error, false}
	case t.Invalid():
		return ending{"invalid hyperparameters", Completed, false}
	case e.Cause == Lost || e.Cause == Killed:
		return ending{"it continues from its latest checkpoint; no restart is counted", Active, false}
	case e.Cause == Exited && e.Heeded:
		return ending{"it saved a checkpoint and exited", Active, false}
	case e.Cause == Exited:
		return ending{"its program completed", Completed, false}
	case e.NoRetry:
		return ending{"it failed, and a log policy has the action cancel_retries", Error, false}
	case t.Restarts >= maxRestarts:
		return ending{fmt.Sprintf("it failed; it was restarted %d times, and max_restarts is %d", t.Restarts, maxRestarts), Error, false}
	}
	return ending{fmt.Sprintf("it failed; this is restart %d of %d", t.Restarts+1, maxRestarts), Active, true}
}

// EndRun returns the trial after the end of its run, the decision and the reason. It is idempotent.
func (t Trial) EndRun(e RunEnd, maxRestarts int) (Trial, Verdict, string) {
	if !t.Running {
		return t, t.verdictOf(), "the end of the run was reported before"
	}
	j := t.judgeEnd(e, maxRestarts)
	t.Running = false
	if j.count {
		t.Restarts++
	}
	for _, node := range e.Excluded {
		if !slices.Contains(t.Excluded, node) {
			t.Excluded = append(slices.Clone(t.Excluded), node)
		}
	}
	if j.to != Active { // a paused trial stays paused
		t.State = j.to
	}
	why := j.rule
	if e.Reason != "" {
		why = e.Reason + ": " + j.rule
	}
	return t, t.verdictOf(), why
}

func (t Trial) verdictOf() Verdict {
	if t.State == Active {
		return Again
	}
	if t.State == Paused {
		return Held
	}
	return Done
}
