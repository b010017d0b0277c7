package cloudtest

import (
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
)

// Fault is a way in which a changing call fails.
type Fault string

// The faults.
const (
	// Refuse fails without an effect and without a kind.
	Refuse Fault = "refuse"
	// Deny fails without an effect, and the caller can know.
	Deny Fault = "deny"
	// Throttle fails without an effect, for having come too soon.
	Throttle Fault = "throttle"
	// LoseRequest has no effect, and the caller cannot know.
	LoseRequest Fault = "lose the request"
	// LoseReply has its effect, and the caller cannot know.
	LoseReply Fault = "lose the reply"
	// KillBefore ends the process before the call; KillAfter after it. Every
	// later call fails too, until Revive.
	KillBefore Fault = "kill before"
	KillAfter  Fault = "kill after"
)

// Faults lists all of them.
func Faults() []Fault {
	return []Fault{Refuse, Deny, Throttle, LoseRequest, LoseReply, KillBefore, KillAfter}
}

// FailAt has the n-th changing call from the start, counted from 1, fail.
func (w *World) FailAt(n int, f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults == nil {
		w.faults = make(map[int]Fault)
	}
	w.faults[n] = f
}

// Calls returns how many changing calls were made.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// Revive lets a new process make calls, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead, w.faults = false, nil
}

// Store is for the Before hook of a record's store, so that its calls count and
// fail among the others. Reading does not count.
func (w *World) Store(op string) error {
	if op[:3] == "get" {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.dead {
			return ErrKilled
		}
		return nil
	}
	return w.change(op, func() error { return nil })
}

// change counts a call, and has it fail where a test wants that.
func (w *World) change(op string, f func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return ErrKilled
	}
	w.calls++
	fault := w.faults[w.calls]
	switch fault {
	case "":
		return f()
	case LoseReply, KillAfter:
		if err := f(); err != nil {
			return err
		}
	case Refuse, Deny, Throttle, LoseRequest, KillBefore:
	}
	w.dead = w.dead || fault == KillBefore || fault == KillAfter
	return &cloud.Error{Kind: fault.kind(), Op: op, Err: fmt.Errorf("%w: %s", ErrInjected, fault)}
}

func (f Fault) kind() cloud.Kind {
	switch f {
	case Deny:
		return cloud.Denied
	case Throttle:
		return cloud.RateLimited
	case LoseRequest, LoseReply:
		return cloud.Ambiguous
	case Refuse, KillBefore, KillAfter:
	}
	return cloud.Unknown
}
