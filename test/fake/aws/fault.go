package awstest

import (
	"fmt"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// FailAt injects a fault into the n-th call from the start, counted from 1.
func (w *World) FailAt(n int, f faults.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.FailAt(n, f)
}

// FailChange injects a fault into the n-th modifying call from the start, counted from 1.
func (w *World) FailChange(n int, f faults.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.FailChange(n, f)
}

// FailOp injects faults into the next calls of an operation ("ec2:RunInstances"), one per call. The
// fault "" lets a call succeed.
func (w *World) FailOp(op string, fs ...faults.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.FailOp(op, fs...)
}

// Storm injects random faults into all attempts: throttles, and lost replies.
func (w *World) Storm(seed uint64, throttled, lost float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.Storm = faults.NewStorm(seed, throttled, lost)
}

// Revive simulates a new process, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule.Revive()
}

// before injects faults before a call has its effect.
func (s *site) before(c *call) error {
	s.back = 0
	switch c.fault {
	case faults.Refuse:
		return injected(400, "Injected", "refused")
	case faults.Throttle:
		return throttled()
	case faults.ThrottleOnce:
		if c.attempts == 1 {
			return throttled()
		}
	case faults.Break:
		return injected(500, "InternalError", "An internal error has occurred")
	case faults.LoseRequest:
		return &smithyhttp.RequestSendError{Err: fmt.Errorf("%w: the request was lost", faults.ErrInjected)}
	case faults.KillBefore:
		s.schedule.Dead = true
		return faults.ErrKilled
	case faults.Stale:
		s.back = 1
	case faults.LoseReply, faults.KillAfter:
	}
	return nil
}

// after injects faults after a call has had its effect.
func (s *site) after(c *call) error {
	switch c.fault {
	case faults.LoseReply:
		return &smithyhttp.RequestSendError{Err: fmt.Errorf("%w: the reply was lost", faults.ErrInjected)}
	case faults.KillAfter:
		s.schedule.Dead = true
		return faults.ErrKilled
	case faults.Refuse, faults.Throttle, faults.ThrottleOnce, faults.Break, faults.LoseRequest, faults.KillBefore, faults.Stale:
	}
	return nil
}

func throttled() error { return injected(503, "RequestLimitExceeded", "Request limit exceeded.") }
