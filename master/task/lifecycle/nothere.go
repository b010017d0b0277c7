package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// A task whose program never ran, because its machine lacked something needed to start it, is requeued
// whether or not it is preemptible:
//
//	placed ──not here──▶ waits 1 s ──▶ placed ──not here──▶ waits 2 s … 1 min ──▶ placed
//
// The count of failed starts ends with the first allocation that starts. A task does not fail because of
// the count; its reason to wait includes it.
const (
	firstDelay = time.Second
	// maxDelay equals the interval of an agent's own probes. A longer delay saves nothing, because a
	// sick agent gets no tasks.
	maxDelay = time.Minute
	// mostAvoided is the number of agents that are remembered for failing to start it.
	mostAvoided = 16
)

// delayAfter returns the delay after n failed starts in a row.
func delayAfter(n int) time.Duration {
	d := firstDelay
	for ; n > 1 && d < maxDelay; n-- {
		d *= 2
	}
	return min(d, maxDelay)
}

// delayStart delays an allocation that follows one that could not be started.
func (a *Allocation) delayStart(before Allocation, at time.Time) {
	a.NotHere = before.NotHere + 1
	wait := delayAfter(a.NotHere)
	a.NotBefore, a.Avoid = at.Add(wait), before.avoidedAgents()
	times := "once"
	if a.NotHere > 1 {
		times = fmt.Sprintf("%d times in a row", a.NotHere)
	}
	a.Delayed = fmt.Sprintf("it could not be started %s because machines lacked something, most recently: %s", times, before.End.Status)
	a.addMessage(at, levelInfo, "%s is queued again and starts in %s at the earliest: %s", a.Name, wait, a.Delayed)
}

// avoidedAgents returns the agents that could not start it in this row, the last one last.
func (a Allocation) avoidedAgents() []rm.AgentID {
	out := slices.Clone(a.Avoid)
	for _, c := range a.Containers {
		if c.Exit != nil && c.Exit.NotHere {
			out = append(slices.DeleteFunc(out, func(id rm.AgentID) bool { return id == c.Agent }), c.Agent)
		}
	}
	return out[max(0, len(out)-mostAvoided):]
}

// neverStarted reports whether the allocation as a whole never ran: its containers were never all
// running at one time, and no program has succeeded.
func (a Allocation) neverStarted() bool {
	for _, c := range a.Containers {
		if c.Exit != nil && c.Exit.Kind == Exited && c.Exit.Code == 0 {
			return false
		}
	}
	return a.Started.IsZero()
}
