// Package lifecycle implements the state machines of experiments and trials: the states that follow
// requests, the wanted state of a trial's run, and the effect of the end of a run. All functions are
// pure; the time is a parameter.
package lifecycle

import (
	"fmt"
	"slices"
)

// State is the state of an experiment or a trial.
//
//	PAUSED ◀──▶ ACTIVE
//	   │           │
//	   └─────┬─────┘
//	         ├──▶ STOPPING_COMPLETED ──▶ COMPLETED ──┐
//	         ├──▶ STOPPING_CANCELED ───▶ CANCELED ───┤
//	         │           ▼                  ▲        ├──▶ DELETING ──▶ DELETED
//	         ├──▶ STOPPING_KILLED ──────────┘        │     ▲   │
//	         └──▶ STOPPING_ERROR ──────▶ ERROR ──────┘     │   ▼
//	                                                    DELETE_FAILED
//
// A trial has no deletion states and may end without a stopping state. While it is stopping, a user
// or the failure of the experiment may kill it. It ends in ERROR if its program fails.
type State string

// The states.
const (
	Active            State = "ACTIVE"
	Paused            State = "PAUSED"
	StoppingCompleted State = "STOPPING_COMPLETED"
	StoppingCanceled  State = "STOPPING_CANCELED"
	StoppingKilled    State = "STOPPING_KILLED"
	StoppingError     State = "STOPPING_ERROR"
	Completed         State = "COMPLETED"
	Canceled          State = "CANCELED"
	Error             State = "ERROR"
	Deleting          State = "DELETING"
	Deleted           State = "DELETED"
	DeleteFailed      State = "DELETE_FAILED"
)

// States returns all states.
func States() []State {
	return []State{
		Active, Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError,
		Completed, Canceled, Error, Deleting, Deleted, DeleteFailed,
	}
}

// experimentTable returns the states that may follow a state of an experiment.
func experimentTable(from State) []State {
	switch from {
	case Active:
		return []State{Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError}
	case Paused:
		return []State{Active, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError}
	case StoppingCanceled:
		return []State{Canceled, StoppingKilled}
	case StoppingCompleted, StoppingKilled, StoppingError:
		return []State{from.terminalState()}
	case Completed, Canceled, Error, DeleteFailed:
		return []State{Deleting}
	case Deleting:
		return []State{Deleted, DeleteFailed}
	case Deleted:
	}
	return nil
}

// trialTable returns the states that may follow a state of a trial.
func trialTable(from State) []State {
	switch from {
	case Active, Paused:
		return append(experimentTable(from), Completed, Error)
	case StoppingCompleted, StoppingCanceled:
		return []State{from.terminalState(), StoppingKilled, StoppingError, Error}
	case StoppingKilled:
		return []State{Canceled}
	case StoppingError:
		return []State{Error, StoppingKilled}
	case Completed, Canceled, Error, Deleting, Deleted, DeleteFailed:
	}
	return nil
}

// Stopping reports whether the state waits for runs to end.
func (s State) Stopping() bool { return s.terminalState() != "" }

// Over reports whether no run exists or will start.
func (s State) Over() bool {
	return slices.Contains([]State{Completed, Canceled, Error, Deleting, Deleted, DeleteFailed}, s)
}

// terminalState returns the state that follows a stopping state, and "" for all other states.
func (s State) terminalState() State {
	switch s {
	case StoppingCompleted:
		return Completed
	case StoppingCanceled, StoppingKilled:
		return Canceled
	case StoppingError:
		return Error
	case Active, Paused, Completed, Canceled, Error, Deleting, Deleted, DeleteFailed:
	}
	return ""
}

// takeStep returns an error if the table does not contain the transition.
func takeStep(what string, table func(State) []State, from, to State) (State, error) {
	if !slices.Contains(table(from), to) {
		return from, fmt.Errorf("cannot change the %s from %s to %s", what, from, to)
	}
	return to, nil
}
