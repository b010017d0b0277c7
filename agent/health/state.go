package health

import "time"

const (
	// firstPause is until the first probe, and maxPause the longest between two.
	firstPause = time.Second
	maxPause   = time.Minute
	// relapse is how soon after its recovery a machine that lacks something again is
	// one whose probes do not show what its starts need: it is believed ever later.
	relapse = 5 * time.Minute
)

// State is whether a machine can start containers. The zero State is well.
//
//	      a start fails for what the machine lacks
//	┌──▶ Well ──────────────────────────────▶ Sick ──┐ a probe fails:
//	│     │ ▲                                  │  ▲  │ the next one after
//	│     └─┘ a container starts:              │  └──┘ twice the pause
//	│         the next sickness                │
//	│         begins with short pauses         │
//	└───────────── a probe succeeds ───────────┘
//
// A machine that fails again soon after it recovered continues with twice its last
// pause.
type State struct {
	// Lack is what the machine lacks; empty for one that is well.
	Lack Lack
	// Reason is the cause of it, which all may read.
	Reason string
	// Since is when it began to be as it is.
	Since time.Time
	// Next is when a sick machine is probed.
	Next time.Time

	pause time.Duration
}

// Sick says that the machine takes nothing.
func (s State) Sick() bool { return s.Lack != "" }

// Err is why a sick machine starts nothing, and nil for one that is well.
func (s State) Err() error {
	if !s.Sick() {
		return nil
	}
	return &SickError{Lack: s.Lack, Reason: s.Reason}
}

// Failed notes a start that failed for what the machine lacks.
func (s State) Failed(l Lack, reason string, now time.Time) State {
	if s.Sick() {
		return s // its probes decide what follows
	}
	pause := firstPause
	if s.pause > 0 && now.Sub(s.Since) < relapse {
		pause = min(2*s.pause, maxPause)
	}
	return State{Lack: l, Reason: reason, Since: now, Next: now.Add(pause), pause: pause}
}

// Started notes that a container has started, which no probe shows as well.
func (s State) Started() State {
	if !s.Sick() {
		s.pause = 0
	}
	return s
}

// Probed notes what a probe of a sick machine found: nothing that it lacks, or what.
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
