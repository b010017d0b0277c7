// Package faults is how the calls of an emulated cloud fail at a test's wish, whichever
// cloud it is. Only tests and emulations may import it.
package faults

import (
	"errors"
	"fmt"
)

// Fault is a way in which a call fails.
type Fault string

// The faults.
const (
	// Refuse fails without an effect, with an unknown code.
	Refuse Fault = "refuse"
	// Throttle refuses every attempt of the call, for having come too soon;
	// ThrottleOnce only the first, so that a client's retry succeeds.
	Throttle     Fault = "throttle"
	ThrottleOnce Fault = "throttle once"
	// Break answers 500 without an effect, which the caller cannot know.
	Break Fault = "break"
	// LoseRequest has no effect, and the caller cannot know.
	LoseRequest Fault = "lose the request"
	// LoseReply has its effect, and the caller cannot know.
	LoseReply Fault = "lose the reply"
	// KillBefore ends the process before the call; KillAfter after it. Every
	// later call fails too, until Revive.
	KillBefore Fault = "kill before"
	KillAfter  Fault = "kill after"
	// Stale shows a list as it was before the latest change. A call that is no
	// list is not concerned.
	Stale Fault = "stale"
)

// All lists the nine faults.
func All() []Fault {
	return []Fault{Refuse, Throttle, ThrottleOnce, Break, LoseRequest, LoseReply, KillBefore, KillAfter, Stale}
}

// ErrInjected is in every failure a test asked for.
var ErrInjected = errors.New("injected")

// ErrKilled is what a process that has been killed meets, were it still alive.
var ErrKilled = fmt.Errorf("%w: killed", ErrInjected)
