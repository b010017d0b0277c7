package health

import "time"

const (
	// firstPause is the delay before the first probe; maxPause is the maximum delay between two.
	firstPause = time.Second
	maxPause   = time.Minute
	// A machine that fails again within relapse after its recovery has probes that do not cover the
	// needs of its starts, so the delay before its next recovery grows.
	relapse = 5 * time.Minute
)

// State is the health of a machine. The zero State is healthy.
//
//	     a start fails because of a lack
//	┌──▶ Well ──────────────────────────────▶ Sick ──┐ a probe fails:
//	│     │ ▲                                  │  ▲  │ the next one after
//	│     └─┘ a container starts:              │  └──┘ twice the pause
//	│         the next sickness                │
//	│         begins with short pauses         │
//	└───────────── a probe succeeds ───────────┘
//
// A machine that fails again soon after its recovery continues with twice its last pause.
type State struct {
	// Lack is the current lack, or "" if the machine is healthy.
	Lack Lack
	// Reason is the cause, without details of a task.
	Reason string
	// Since is the time of the last change.
	Since time.Time
	// Next is the time of the next probe of an unhealthy machine.
	Next time.Time

	pause time.Duration
}

// Sick reports whether the machine is unhealthy and rejects containers.
func (s State) Sick() bool { return s.Lack != "" }

// Err returns a *SickError for an unhealthy machine, or nil.
func (s State) Err() error {
	if !s.Sick() {
		return nil
	}
	return &SickError{Lack: s.Lack, Reason: s.Reason}
}

// Failed returns the state after a start failed because of a lack.
func (s State) Failed(l Lack, reason string, now time.Time) State {
	if s.Sick() {
		return s // its probes decide
	}
	pause := firstPause
	if s.pause > 0 && now.Sub(s.Since) < relapse {
		pause = min(2*s.pause, maxPause)
	}
	return State{Lack: l, Reason: reason, Since: now, Next: now.Add(pause), pause: pause}
}

// Started returns the state after a container has started, which is better evidence than a probe.
func (s State) Started() State {
	if !s.Sick() {
		s.pause = 0
	}
	return s
}

// Probed returns the state after a probe of an unhealthy machine. An empty lack means success.
func (s State) Probed(l Lack, reason string, now time.Time) State {
	if !s.Sick() {
		return s
	}
	if l == "" {
		return State{Since: now, pause: s.pause}
	}
	s.Lack, s.Reason = l, reason
	s.pause = min(2*s.pause, maxPause)
	s.Next = now.Add(s.pause)
	return s
}
