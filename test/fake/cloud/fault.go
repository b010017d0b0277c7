package cloudtest

import (
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Deny returns a definite error without an effect.
const Deny faults.Fault = "deny"

// Faults returns the faults that World supports: a World has no attempts within a call, and its
// lists lag by World.Lag.
func Faults() []faults.Fault {
	return []faults.Fault{faults.Refuse, Deny, faults.Throttle, faults.LoseRequest, faults.LoseReply, faults.KillBefore, faults.KillAfter}
}

// FailAt injects a fault into the n-th modifying call from the start, counted from 1.
func (w *World) FailAt(n int, f faults.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.FailChange(n, f)
}

// Calls returns the number of modifying calls.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedule.Changes
}

// Revive simulates a new process, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.Revive()
}

// Store is a Before hook for a record's store, so that its calls are counted and can fail like the
// others. Reads are not counted.
func (w *World) Store(op string) error {
	if op[:3] == "get" {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.schedule.Dead {
			return faults.ErrKilled
		}
		return nil
	}
	return w.Act(op, func() error { return nil })
}

// Act makes a modifying call with the effect f. Tests can use it for their own calls, which are
// counted and can fail like the others.
func (w *World) Act(op string, f func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return performCall(&w.schedule, op, true, f)
}

// performCall makes a call, or injects the scheduled fault.
func performCall(s *faults.Schedule, op string, changes bool, act func() error) error {
	if s.Dead {
		return faults.ErrKilled
	}
	fault := s.Next(op, changes)
	if fault == "" || fault == faults.LoseReply || fault == faults.KillAfter {
		if err := act(); err != nil || fault == "" {
			return err
		}
	}
	s.Dead = fault == faults.KillBefore || fault == faults.KillAfter
	return &cloud.Error{Kind: kindOf(fault), Op: op, Err: fmt.Errorf("%w: %s", faults.ErrInjected, fault)}
}

func kindOf(f faults.Fault) cloud.Kind {
	switch f {
	case Deny:
		return cloud.Denied
	case faults.Throttle, faults.ThrottleOnce:
		return cloud.RateLimited
	case faults.LoseRequest, faults.LoseReply, faults.Break:
		return cloud.Ambiguous
	case faults.Refuse, faults.KillBefore, faults.KillAfter, faults.Stale:
	}
	return cloud.Unknown
}
