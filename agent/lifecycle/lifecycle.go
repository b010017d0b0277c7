// Package lifecycle defines the states of a container on its agent and the kinds of its exit.
package lifecycle

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// State is the state of a container. States only advance.
//
//	Assigned ──▶ Pulling ──▶ Starting ──▶ Running ──▶ Terminated
//	    │           │            │                        ▲
//	    └───────────┴────────────┴──does not start────────┘
//
// A container that is found running after a restart of its agent advances to Running from the state
// in which the agent was killed.
type State string

// Values of State.
const (
	Assigned   State = "ASSIGNED"
	Pulling    State = "PULLING"
	Starting   State = "STARTING"
	Running    State = "RUNNING"
	Terminated State = "TERMINATED"
)

// nextStates returns the states that may follow s.
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

// To returns the state after a transition from s. It returns an error if the transition is not
// allowed, also for the current state: an agent that was killed while it pulled an image or started
// a container repeats that step.
func (s State) To(to State) (State, error) {
	for _, n := range nextStates(s) {
		if n == to {
			return to, nil
		}
	}
	return s, fmt.Errorf("invalid transition of a container from %s to %s", s, to)
}

// Proto returns the state as an API value.
func (s State) Proto() apiv1.Container_State {
	return apiv1.Container_State(apiv1.Container_State_value["STATE_"+string(s)])
}

// Before reports whether s precedes the API state p.
func (s State) Before(p apiv1.Container_State) bool { return s.Proto() < p }

// Kind is the kind of a container's exit.
type Kind string

// Values of Kind.
const (
	Exited     Kind = "exited"
	NotStarted Kind = "not_started"
	Lost       Kind = "lost"
)

// Exit describes the exit of a container.
type Exit struct {
	Kind    Kind   `json:"kind"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Silent reports whether the agent killed the container because its master did not answer.
	Silent bool `json:"silent,omitempty"`
	// NotHere reports whether the container did not start because of a lack of the agent's machine.
	NotHere bool `json:"not_here,omitempty"`
}

// Proto returns the exit as an API message.
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
