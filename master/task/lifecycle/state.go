// Package lifecycle decides what becomes of a task's allocations: what each piece
// of news changes, which words about it go into the task's log, and how it ended.
// Everything in it is a pure function; time comes in as a value.
package lifecycle

import (
	"fmt"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// State is how far an allocation is: as far as its most progressed container.
//
//	QUEUED ──▶ PULLING ──▶ STARTING ──▶ RUNNING
//	   │          │           │            │  asked to stop, or first of a gang ended
//	   │          └───────────┴──────┬─────┘
//	   │                             ▼
//	   ├──────────────────────▶ TERMINATING
//	   │                             │ nothing is left
//	   └──never placed───────▶  TERMINATED ◀── any
//
// A step may be left out: a container that starts at once is never seen pulling.
type State string

// The states of an allocation.
const (
	Queued      State = "QUEUED"
	Pulling     State = "PULLING"
	Starting    State = "STARTING"
	Running     State = "RUNNING"
	Terminating State = "TERMINATING"
	Terminated  State = "TERMINATED"
)

// stateOrder is the states from first to last; an allocation only moves forward.
func stateOrder() []State {
	return []State{Queued, Pulling, Starting, Running, Terminating, Terminated}
}

// stateTable is the table: after which states each may come.
func stateTable(to State) []State {
	switch to {
	case Pulling, Starting, Running, Terminating, Terminated:
		return stateOrder()[:slices.Index(stateOrder(), to)]
	default:
		return nil
	}
}

// moveTo moves to the state, or says that the table has no such step.
func (a *Allocation) moveTo(to State) error {
	if !slices.Contains(stateTable(to), a.State) {
		return fmt.Errorf("move allocation %s: there is no step from %s to %s", a.ID, a.State, to)
	}
	a.State = to
	return nil
}

// advanceTo moves forward when there is such a step and stays otherwise.
func (a *Allocation) advanceTo(to State) {
	if slices.Contains(stateTable(to), a.State) {
		a.State = to
	}
}

// API is the state as clients know it.
func (s State) API() apiv1.Task_State {
	return apiv1.Task_State(apiv1.Task_State_value["STATE_"+string(s)])
}

// ContainerState is how far a container is.
//
//	ASSIGNED ──▶ PULLING ──▶ STARTING ──▶ RUNNING ──▶ TERMINATED
//
// Steps may be left out; none goes back, so late and repeated news changes nothing.
type ContainerState string

// The states of a container.
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

// mayPrecede says whether a container may move from s to t.
func (s ContainerState) mayPrecede(t ContainerState) bool {
	return slices.Index(containerOrder(), s) < slices.Index(containerOrder(), t)
}

// API is the state as clients know it.
func (s ContainerState) API() apiv1.Container_State {
	return apiv1.Container_State(apiv1.Container_State_value["STATE_"+string(s)])
}

// containerState reads the API's state; false for one there is not.
func containerState(s apiv1.Container_State) (ContainerState, bool) {
	for _, c := range containerOrder() {
		if c.API() == s {
			return c, true
		}
	}
	return "", false
}
