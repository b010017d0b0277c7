// Package lifecycle decides what becomes of experiments and their trials: which state follows
// from which request, what is wanted of a trial's run, and what the end of a run leads to.
// Everything in it is a pure function; time comes in as a value.
package lifecycle

import (
	"fmt"
	"slices"
)

// State is where an experiment or a trial stands.
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
// A trial has no states of deletion. It may end without stopping first. On its way out it may be
// killed, by a user or because the experiment failed, and it ends as ERROR when its program fails.
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

// States is every state.
func States() []State {
	return []State{
		Active, Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError,
		Completed, Canceled, Error, Deleting, Deleted, DeleteFailed,
	}
}

// experimentTable is the table of experiments: which states may follow.
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

// trialTable is the table of trials.
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

// Stopping says that the state waits for runs to end.
func (s State) Stopping() bool { return s.terminalState() != "" }

// Over says that nothing runs and nothing will.
func (s State) Over() bool {
	return slices.Contains([]State{Completed, Canceled, Error, Deleting, Deleted, DeleteFailed}, s)
}

// terminalState is what a stopping state leads to, empty for any other.
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

// takeStep refuses what the table lacks.
func takeStep(what string, table func(State) []State, from, to State) (State, error) {
	if !slices.Contains(table(from), to) {
		return from, fmt.Errorf("move the %s: there is no step from %s to %s", what, from, to)
	}
	return to, nil
}
