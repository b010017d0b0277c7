package lifecycle

import (
	"slices"
	"time"
)

// Trial is what decides about a trial.
type Trial struct {
	State State `json:"state"`
	// Run counts its runs from 1; Running says that the latest has not ended.
	Run     int  `json:"run"`
	Running bool `json:"running"`
	// Restarts counts the runs that followed a failure of its program.
	Restarts int `json:"restarts"`
	// Latest is the checkpoint that the next run starts from, WarmStart the one of the first.
	Latest    string `json:"latest_checkpoint,omitempty"`
	WarmStart string `json:"warm_start,omitempty"`
	// InvalidSince is when its program said that its hyperparameters are impossible.
	InvalidSince *time.Time `json:"invalid_since,omitempty"`
	// Excluded is the machines that it does not run on any more.
	Excluded []string `json:"excluded_nodes,omitempty"`
}

// NewTrial is a trial of an experiment in state x.
func NewTrial(x State, warmStart string) Trial {
	return Trial{State: Active, WarmStart: warmStart}.Follow(x)
}

// Checkpoint is what the next run starts from, empty for nothing.
func (t Trial) Checkpoint() string {
	if t.Latest != "" {
		return t.Latest
	}
	return t.WarmStart
}

// Invalid says that its program found its hyperparameters impossible.
func (t Trial) Invalid() bool { return t.InvalidSince != nil }

// ReportInvalid notes that its program found its hyperparameters impossible. Repeated, or late when
// nothing runs, it changes nothing.
func (t Trial) ReportInvalid(at time.Time) Trial {
	if t.InvalidSince == nil && t.Running {
		t.InvalidSince = &at
	}
	return t
}

// Follow is a trial after its experiment came to a state.
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

// Stop is a trial that is to stop: by the search (StoppingCompleted), by a user, or because the
// experiment failed. One that is stopping already is only killed. One that does not run has ended.
func (t Trial) Stop(to State) Trial {
	if slices.Contains(trialTable(t.State), to) && to.Stopping() {
		t.State = to
	}
	if t.State.Stopping() && !t.Running {
		t.State = t.State.terminalState()
	}
	return t
}

// Begin is a trial whose next run was submitted. It changes only one of which a run is wanted.
func (t Trial) Begin() Trial {
	if t.State == Active && !t.Running {
		t.Run++
		t.Running = true
	}
	return t
}

// Want is what is wanted of a trial's run.
type Want string

// What is wanted. Signal is the way of a stop by the search, of a pause, of a cancellation and of a
// preemption alike: the program saves itself, and is killed when it takes too long.
const (
	Nothing Want = "nothing"
	Start   Want = "start"
	Keep    Want = "keep"
	Signal  Want = "signal"
	End     Want = "kill"
)

// graceOfInvalid is how long a program may take to end by itself after it said that its
// hyperparameters are impossible.
const graceOfInvalid = 10 * time.Second

// Wanted is what is wanted of a trial's run now. It is level-triggered: asked again, after a
// restart too, it says the same until the trial changes.
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

// isWithin says that less than a grace has passed. Of a clock that was set back since it is not known how much has.
func isWithin(passed, grace time.Duration) bool { return passed >= 0 && passed < grace }
