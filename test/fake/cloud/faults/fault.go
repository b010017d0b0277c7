// Package faults schedules faults in the calls of a fake cloud, independent of the platform. Only
// tests and fakes may import it.
package faults

import (
	"errors"
	"fmt"
)

// Fault is a kind of failure of a call.
type Fault string

// The faults.
const (
	// Refuse returns an unknown error code, without an effect.
	Refuse Fault = "refuse"
	// Throttle returns a throttling error for every attempt of the call, ThrottleOnce for the first
	// one only, so that a client's retry succeeds.
	Throttle     Fault = "throttle"
	ThrottleOnce Fault = "throttle once"
	// Break returns status 500 without an effect, which the caller cannot know.
	Break Fault = "break"
	// LoseRequest drops the request. The caller cannot know whether the call had an effect.
	LoseRequest Fault = "lose the request"
	// LoseReply drops the response after the effect. The caller cannot know whether the call had an
	// effect.
	LoseReply Fault = "lose the reply"
	// KillBefore kills the process before the call, KillAfter after it. All later calls fail until
	// Revive.
	KillBefore Fault = "kill before"
	KillAfter  Fault = "kill after"
	// Stale makes a list return the state before the latest change. It does not affect other calls.
	Stale Fault = "stale"
)

// All returns the nine faults.
func All() []Fault {
	return []Fault{Refuse, Throttle, ThrottleOnce, Break, LoseRequest, LoseReply, KillBefore, KillAfter, Stale}
}

// ErrInjected is wrapped by all injected errors.
var ErrInjected = errors.New("injected")

// ErrKilled is returned to a process that was killed.
var ErrKilled = fmt.Errorf("%w: killed", ErrInjected)
