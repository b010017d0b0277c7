// Package lifecycle is what a container goes through on its agent, and how
// it may end.
package lifecycle

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// State is how far a container got. States only go forward.
//
//	Assigned ──▶ Pulling ──▶ Starting ──▶ Running ──▶ Terminated
//	    │           │            │                        ▲
//	    └───────────┴────────────┴──does not start────────┘
//
// A container that is found running after a restart of its agent goes to
// Running from wherever its agent was killed.
type State string

// The states.
const (
	Assigned   State = "ASSIGNED"
	Pulling    State = "PULLING"
	Starting   State = "STARTING"
	Running    State = "RUNNING"
	Terminated State = "TERMINATED"
)

// nextStates lists what may follow each state.
func nextStates(s State) []State {
	switch s {
	case Assigned:
		return []State{Pulling, Running, Terminated}
	case Pulling:
		return []State{Starting, Running, Terminated}
	case Starting:
		return []State{Running, Terminated}
	case Running:
		return []State{Terminated}
	default:
		return nil
	}
}

// To moves from s to a later state. An agent that was killed while it pulled
// or started does so again: staying in its state is no step.
func (s State) To(to State) (State, error) {
	for _, n := range nextStates(s) {
		if n == to {
			return to, nil
		}
	}
	return s, fmt.Errorf("a container cannot go from %s to %s", s, to)
}

// Proto is the state on the wire.
func (s State) Proto() apiv1.Container_State {
	return apiv1.Container_State(apiv1.Container_State_value["STATE_"+string(s)])
}

// Before says whether s comes before a state on the wire.
func (s State) Before(p apiv1.Container_State) bool { return s.Proto() < p }

// Kind is how a container ended.
type Kind string

// The kinds.
const (
	Exited     Kind = "exited"
	NotStarted Kind = "not_started"
	Lost       Kind = "lost"
)

// Exit is how a container ended, and with what.
type Exit struct {
	Kind    Kind   `json:"kind"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Silent says that the agent ended the container because its master did not answer.
	Silent bool `json:"silent,omitempty"`
	// NotHere says that the container did not start for what the agent's machine lacks.
	NotHere bool `json:"not_here,omitempty"`
}

// Proto is the exit on the wire.
func (e Exit) Proto() *agentv1.Exit {
	kind := agentv1.Exit_KIND_EXITED
	switch e.Kind {
	case NotStarted:
		kind = agentv1.Exit_KIND_NOT_STARTED
	case Lost:
		kind = agentv1.Exit_KIND_LOST
	case Exited:
	}
	return &agentv1.Exit{Kind: kind, Code: int32(e.Code), Message: e.Message, Silent: e.Silent, NotHere: e.NotHere}
}
