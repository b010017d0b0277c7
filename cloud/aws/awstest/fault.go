package awstest

import (
	"errors"
	"fmt"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Fault is a way in which a call fails.
type Fault string

// The faults.
const (
	// Refuse fails without an effect, with a code nobody knows.
	Refuse Fault = "refuse"
	// Throttle refuses every attempt of the call, for having come too soon;
	// ThrottleOnce only the first, so that the SDK's retry succeeds.
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

// Faults lists all of them.
func Faults() []Fault {
	return []Fault{Refuse, Throttle, ThrottleOnce, Break, LoseRequest, LoseReply, KillBefore, KillAfter, Stale}
}

// ErrInjected is in every failure a test asked for.
var ErrInjected = errors.New("injected")

// ErrKilled is what a process that has been killed meets, were it still alive.
var ErrKilled = fmt.Errorf("%w: killed", ErrInjected)

// faults is which calls fail. All counts are of calls, not of attempts.
type faults struct {
	calls, changes int
	atCall         map[int]Fault
	atChange       map[int]Fault
	byOp           map[string][]Fault
	dead           bool
}

// next counts a call and says how it fails.
func (f *faults) next(c *call) Fault {
	f.calls++
	if fault, ok := f.atCall[f.calls]; ok {
		return fault
	}
	if c.changes {
		f.changes++
		if fault, ok := f.atChange[f.changes]; ok {
			return fault
		}
	}
	if q := f.byOp[c.op]; len(q) > 0 {
		f.byOp[c.op] = q[1:]
		return q[0]
	}
	return ""
}

// FailAt has the n-th call from the start, counted from 1, fail.
func (w *World) FailAt(n int, f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults.atCall == nil {
		w.faults.atCall = make(map[int]Fault)
	}
	w.faults.atCall[n] = f
}

// FailChange has the n-th changing call from the start, counted from 1, fail.
func (w *World) FailChange(n int, f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults.atChange == nil {
		w.faults.atChange = make(map[int]Fault)
	}
	w.faults.atChange[n] = f
}

// FailOp has the next calls of an operation ("ec2:RunInstances") fail, one for
// each fault; "" lets one pass.
func (w *World) FailOp(op string, fs ...Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults.byOp == nil {
		w.faults.byOp = make(map[string][]Fault)
	}
	w.faults.byOp[op] = append(w.faults.byOp[op], fs...)
}

// Revive lets a new process make calls, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &w.faults
	f.dead, f.atCall, f.atChange, f.byOp = false, nil, nil, nil
}

// before is what fails before a call has its effect.
func (s *site) before(c *call) error {
	s.back = 0
	switch c.fault {
	case Refuse:
		return injected(400, "Injected", "refused")
	case Throttle:
		return throttled()
	case ThrottleOnce:
		if c.attempts == 1 {
			return throttled()
		}
	case Break:
		return injected(500, "InternalError", "An internal error has occurred")
	case LoseRequest:
		return &smithyhttp.RequestSendError{Err: fmt.Errorf("%w: the request was lost", ErrInjected)}
	case KillBefore:
		s.faults.dead = true
		return ErrKilled
	case Stale:
		s.back = 1
	case LoseReply, KillAfter:
	}
	return nil
}

// after is what fails when a call has had its effect.
func (s *site) after(c *call) error {
	switch c.fault {
	case LoseReply:
		return &smithyhttp.RequestSendError{Err: fmt.Errorf("%w: the reply was lost", ErrInjected)}
	case KillAfter:
		s.faults.dead = true
		return ErrKilled
	case Refuse, Throttle, ThrottleOnce, Break, LoseRequest, KillBefore, Stale:
	}
	return nil
}

func throttled() error { return injected(503, "RequestLimitExceeded", "Request limit exceeded.") }
