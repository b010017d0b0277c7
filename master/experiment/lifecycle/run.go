package lifecycle

import (
	"fmt"
	"slices"
)

// Cause is why a run ended.
type Cause string

// The causes.
const (
	// Exited is a program that ended with 0.
	Exited Cause = "exited"
	// Failed is a program that ended with anything else, of itself.
	Failed Cause = "failed"
	// Killed is a program that was killed on request: a user's, or the master's after the time
	// that a signal leaves.
	Killed Cause = "killed"
	// Lost is a run that was taken from its trial: its machine was lost, taken back, drained or
	// disabled, it was evicted, or others came before it.
	Lost Cause = "lost"
	// Refused is a run that can never be: its pool does not exist, or it may not run.
	Refused Cause = "refused"
)

// Causes is every cause.
func Causes() []Cause { return []Cause{Exited, Failed, Killed, Lost, Refused} }

// RunEnd is how a run ended.
type RunEnd struct {
	Cause Cause
	// Heeded says that the program acknowledged a signal to stop.
	Heeded bool
	// NoRetry says that a log policy forbids another run after a failure.
	NoRetry bool
	// Excluded is the machines that log policies take out.
	Excluded []string
	// Reason is the cause in words.
	Reason string
}

// Verdict is what follows the end of a run.
type Verdict string

// What follows.
const (
	// Again is another run.
	Again Verdict = "again"
	// Held is another run once the experiment is activated.
	Held Verdict = "held"
	// Done is the end of the trial.
	Done Verdict = "over"
)

// ending is what the end of a run means: the reason in words, the state that follows, in which Active
// stands for another run, and whether a restart is counted.
type ending struct {
	rule  string
	to    State
	count bool
}

// judgeEnd is the table of what the end of a run means: the first row that applies.
//
//	trial, and end of the run                             next
//	to be killed                                          CANCELED
//	stopping because the experiment failed                ERROR
//	stopping otherwise, and the program did not fail      its terminal state
//	stopping otherwise, and the program failed            ERROR
//	never placed, pool gone, refused                      ERROR
//	reported impossible hyperparameters                   COMPLETED
//	machine lost, taken back, drained; killed on request  next run, no restart counted
//	ended with 0 and heeded the signal                    next run
//	ended with 0 and did not                              COMPLETED
//	failed, and a log policy says cancel_retries          ERROR
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
		return ending{"it failed while it stopped", Error, false}
	case e.Cause == Refused:
		return ending{"it cannot run", Error, false}
	case t.Invalid():
		return ending{"its hyperparameters are impossible", Completed, false}
	case e.Cause == Lost || e.Cause == Killed:
		return ending{"it continues from its latest checkpoint; no restart is counted", Active, false}
	case e.Cause == Exited && e.Heeded:
		return ending{"it saved itself", Active, false}
	case e.Cause == Exited:
		return ending{"its program ended", Completed, false}
	case e.NoRetry:
		return ending{"it failed, and a log policy says cancel_retries", Error, false}
	case t.Restarts >= maxRestarts:
		return ending{fmt.Sprintf("it failed; it was restarted %d times, and max_restarts is %d", t.Restarts, maxRestarts), Error, false}
	}
	return ending{fmt.Sprintf("it failed; this is restart %d of %d", t.Restarts+1, maxRestarts), Active, true}
}

// EndRun is a trial after the end of its run, what follows, and why in words. A run's end that was
// noted already leads to the same again.
func (t Trial) EndRun(e RunEnd, maxRestarts int) (Trial, Verdict, string) {
	if !t.Running {
		return t, t.verdictOf(), "the end of the run was noted before"
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
