package lifecycle

import (
	"slices"
	"time"
)

// Trial is the state machine of a trial.
type Trial struct {
	State State `json:"state"`
	// Run counts the runs from 1. Running reports that the latest run has not ended.
	Run     int  `json:"run"`
	Running bool `json:"running"`
	// Restarts counts the runs that followed a failure of the program.
	Restarts int `json:"restarts"`
	// Latest is the checkpoint from which the next run starts, WarmStart that of the first run.
	Latest    string `json:"latest_checkpoint,omitempty"`
	WarmStart string `json:"warm_start,omitempty"`
	// InvalidSince is the time at which the program rejected its hyperparameters.
	InvalidSince *time.Time `json:"invalid_since,omitempty"`
	// Excluded lists the nodes on which the trial must not run.
	Excluded []string `json:"excluded_nodes,omitempty"`
}

// NewTrial returns a new trial of an experiment in state x.
func NewTrial(x State, warmStart string) Trial {
	return Trial{State: Active, WarmStart: warmStart}.Follow(x)
}

// Checkpoint returns the checkpoint from which the next run starts, or "" to start from the
// beginning.
func (t Trial) Checkpoint() string {
	if t.Latest != "" {
		return t.Latest
	}
	return t.WarmStart
}

// Invalid reports whether the program rejected its hyperparameters.
func (t Trial) Invalid() bool { return t.InvalidSince != nil }

// ReportInvalid records that the program rejected its hyperparameters. It changes nothing if that
// was recorded before or the trial is not running.
func (t Trial) ReportInvalid(at time.Time) Trial {
	if t.InvalidSince == nil && t.Running {
		t.InvalidSince = &at
	}
	return t
}

// Follow returns the trial after its experiment has changed to state x.
func (t Trial) Follow(x State) Trial {
	switch {
	case t.State.Over():
		return t
	case x == Active || x == Paused:
		if t.State == Active || t.State == Paused {
			t.State = x
		}
		return t
	case x.Stopping():
		return t.Stop(x)
	}
	return t
}

// Stop returns the trial after it was stopped: by the search (StoppingCompleted), by a user, or
// because the experiment failed. A trial that is already stopping can only be killed. A trial that
// is not running ends.
func (t Trial) Stop(to State) Trial {
	if slices.Contains(trialTable(t.State), to) && to.Stopping() {
		t.State = to
	}
	if t.State.Stopping() && !t.Running {
		t.State = t.State.terminalState()
	}
	return t
}

// Begin returns the trial after its next run was submitted. It changes nothing if no run is wanted.
func (t Trial) Begin() Trial {
	if t.State == Active && !t.Running {
		t.Run++
		t.Running = true
	}
	return t
}

// Want is the wanted state of a trial's run.
type Want string

// The wanted states. Signal is used for a stop by the search, a pause, a cancellation and a
// preemption alike: the program saves a checkpoint, and is killed if it takes too long.
const (
	Nothing Want = "nothing"
	Start   Want = "start"
	Keep    Want = "keep"
	Signal  Want = "signal"
	End     Want = "kill"
)

// graceOfInvalid is the time that a program has to exit after it rejected its hyperparameters.
const graceOfInvalid = 10 * time.Second

// Wanted returns the wanted state of a trial's run. It is level-triggered: the result only changes
// with the trial, also after a restart of the master.
func (t Trial) Wanted(now time.Time) Want {
	switch {
	case !t.Running && t.State == Active:
		return Start
	case !t.Running:
		return Nothing
	case t.State == StoppingKilled || t.State == StoppingError:
		return End
	case t.InvalidSince != nil && !isWithin(now.Sub(*t.InvalidSince), graceOfInvalid):
		return End
	case t.State == Active:
		return Keep
	}
	return Signal
}

// isWithin reports whether less than the grace period has passed. A negative duration, after the
// clock was set back, counts as expired, because the real duration is unknown.
func isWithin(passed, grace time.Duration) bool { return passed >= 0 && passed < grace }
