package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// A task whose program never ran, because its machine lacked what a start needs, is
// queued again whether or not it is preemptible:
//
//	placed ──not here──▶ waits 1 s ──▶ placed ──not here──▶ waits 2 s … 1 min ──▶ placed
//
// What counts is that it did not run: the first allocation that starts ends the count.
// A task is not given up for this, however often; its reason says how often it was.
const (
	firstDelay = time.Second
	// maxDelay is that of an agent's own probes: to wait longer saves nothing, for a
	// sick agent is given nothing.
	maxDelay = time.Minute
	// mostAvoided is how many agents are remembered that could not start it.
	mostAvoided = 16
)

// delayAfter is how long a task waits that could not be started n times in a row.
func delayAfter(n int) time.Duration {
	d := firstDelay
	for ; n > 1 && d < maxDelay; n-- {
		d *= 2
	}
	return min(d, maxDelay)
}

// delayStart makes an allocation wait that follows one that could not be started.
func (a *Allocation) delayStart(before Allocation, at time.Time) {
	a.NotHere = before.NotHere + 1
	wait := delayAfter(a.NotHere)
	a.NotBefore, a.Avoid = at.Add(wait), before.avoidedAgents()
	times := "once"
	if a.NotHere > 1 {
		times = fmt.Sprintf("%d times in a row", a.NotHere)
	}
	a.Delayed = fmt.Sprintf("it could not be started %s for what machines lacked, at last: %s", times, before.End.Status)
	a.addMessage(at, levelInfo, "%s is queued again, for %s from now at the earliest: %s", a.Name, wait, a.Delayed)
}

// avoidedAgents are the agents that could not start it in this row, the last one last.
func (a Allocation) avoidedAgents() []rm.AgentID {
	out := slices.Clone(a.Avoid)
	for _, c := range a.Containers {
		if c.Exit != nil && c.Exit.NotHere {
			out = append(slices.DeleteFunc(out, func(id rm.AgentID) bool { return id == c.Agent }), c.Agent)
		}
	}
	return out[max(0, len(out)-mostAvoided):]
}

// neverStarted says that the allocation as a whole never ran: not all of its containers
// did at one time, and the program of none has succeeded.
func (a Allocation) neverStarted() bool {
	for _, c := range a.Containers {
		if c.Exit != nil && c.Exit.Kind == Exited && c.Exit.Code == 0 {
			return false
		}
	}
	return a.Started.IsZero()
}
