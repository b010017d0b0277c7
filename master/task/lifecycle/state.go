// Package lifecycle implements the state machine of a task's allocations: the effect of each event, the
// lines that it adds to the task's log, and how the allocation ended. All functions are pure; times are
// passed as values.
package lifecycle

import (
	"fmt"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// State is the state of an allocation, which is that of its most advanced container.
//
//	QUEUED ──▶ PULLING ──▶ STARTING ──▶ RUNNING
//	   │          │           │            │  asked to stop, or first of a gang ended
//	   │          └───────────┴──────┬─────┘
//	   │                             ▼
//	   ├──────────────────────▶ TERMINATING
//	   │                             │ nothing is left
//	   └──never placed───────▶  TERMINATED ◀── any
//
// States may be skipped: a container that starts at once is never seen pulling.
type State string

// Allocation states.
const (
	Queued      State = "QUEUED"
	Pulling     State = "PULLING"
	Starting    State = "STARTING"
	Running     State = "RUNNING"
	Terminating State = "TERMINATING"
	Terminated  State = "TERMINATED"
)

// stateOrder returns the states from first to last; an allocation only advances.
func stateOrder() []State {
	return []State{Queued, Pulling, Starting, Running, Terminating, Terminated}
}

// stateTable returns the states from which an allocation may enter the given one.
func stateTable(to State) []State {
	switch to {
	case Pulling, Starting, Running, Terminating, Terminated:
		return stateOrder()[:slices.Index(stateOrder(), to)]
	default:
		return nil
	}
}

// moveTo changes the state, or returns an error if the table has no such transition.
func (a *Allocation) moveTo(to State) error {
	if !slices.Contains(stateTable(to), a.State) {
		return fmt.Errorf("cannot move allocation %s from %s to %s: no such transition", a.ID, a.State, to)
	}
	a.State = to
	return nil
}

// advanceTo changes the state if the table has such a transition.
func (a *Allocation) advanceTo(to State) {
	if slices.Contains(stateTable(to), a.State) {
		a.State = to
	}
}

// API returns the state in the API.
func (s State) API() apiv1.Task_State {
	return apiv1.Task_State(apiv1.Task_State_value["STATE_"+string(s)])
}

// ContainerState is the state of a container.
//
//	ASSIGNED ──▶ PULLING ──▶ STARTING ──▶ RUNNING ──▶ TERMINATED
//
// States may be skipped but never go back, so that late and repeated events change nothing.
type ContainerState string

// Container states.
const (
	ContainerAssigned   ContainerState = "ASSIGNED"
	ContainerPulling    ContainerState = "PULLING"
	ContainerStarting   ContainerState = "STARTING"
	ContainerRunning    ContainerState = "RUNNING"
	ContainerTerminated ContainerState = "TERMINATED"
)

func containerOrder() []ContainerState {
	return []ContainerState{ContainerAssigned, ContainerPulling, ContainerStarting, ContainerRunning, ContainerTerminated}
}

// mayPrecede reports whether a container may move from s to t.
func (s ContainerState) mayPrecede(t ContainerState) bool {
	return slices.Index(containerOrder(), s) < slices.Index(containerOrder(), t)
}

// API returns the state in the API.
func (s ContainerState) API() apiv1.Container_State {
	return apiv1.Container_State(apiv1.Container_State_value["STATE_"+string(s)])
}

// containerState converts the API's state; it reports false for an unknown one.
func containerState(s apiv1.Container_State) (ContainerState, bool) {
	for _, c := range containerOrder() {
		if c.API() == s {
			return c, true
		}
	}
	return "", false
}
