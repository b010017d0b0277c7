package agentrm

import (
	"maps"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// waitlist is the allocations of a pool as a pass takes them. What waits and differs only in its
// place stands in a line, of which a pass sees as many as could start: a long queue costs no more
// than a short one.
type waitlist struct {
	lines map[alike]*line
	// single are those that a pass sees each time: what is placed, and what waits under conditions
	// of its own.
	single map[rm.AllocationID]*allocation
}

func newWaitlist() *waitlist {
	return &waitlist{lines: make(map[alike]*line), single: make(map[rm.AllocationID]*allocation)}
}

// standsAlone reports whether a pass must look at a waiting allocation by itself.
func (a *allocation) standsAlone() bool {
	return a.phase != Queued || a.SlotLimit() > 0 || !a.NotBefore.IsZero() || len(a.Avoid)+len(a.ExcludedAgents) > 0
}

// addAllocation puts an allocation into its line, or among those that stand alone.
func (w *waitlist) addAllocation(a *allocation) {
	if a.standsAlone() {
		w.single[a.Allocation] = a
		return
	}
	l := w.lineFor(a)
	a.line, a.shownIn = l, 0
	if n := len(l.members); n == 0 || compareWaiting(l.members[n-1], a) < 0 {
		l.members = append(l.members, a) // most come in their order
		return
	}
	at, _ := slices.BinarySearchFunc(l.members, a, compareWaiting)
	l.members = slices.Insert(l.members, at, a)
}

// lineFor is the line in which an allocation waits.
func (w *waitlist) lineFor(a *allocation) *line {
	key := alike{slots: a.Slots, priority: a.Priority, single: a.SingleNode, preemptible: a.Preemptible, needs: needsOf(a.Request)}
	l := w.lines[key]
	if l == nil {
		l = &line{}
		w.lines[key] = l
	}
	return l
}

// waitingOf is the waitlist of a pool.
func (s *state) waitingOf(name string) *waitlist {
	w := s.waiting[name]
	if w == nil {
		w = newWaitlist()
		s.waiting[name] = w
	}
	return w
}

// leaveWaiting takes an allocation out of its waitlist, whichever that is.
func (s *state) leaveWaiting(a *allocation) {
	if a.line != nil {
		a.line.remove(a)
		a.line = nil
		return
	}
	for _, w := range s.waiting {
		delete(w.single, a.Allocation)
	}
}

// holdSlots notes that an allocation waits no longer.
func (s *state) holdSlots(a *allocation) {
	s.leaveWaiting(a)
	s.waitingOf(a.Pool).single[a.Allocation] = a
}

// fewMoved is up to how many allocations change their places one by one.
const fewMoved = 16

// moveWaiting gives the allocations of jobs the places that they have now, after a change of the jobs.
func (s *state) moveWaiting(jobs ...*queue.Job) {
	var moved []*allocation
	for _, j := range jobs {
		for id := range j.Allocations() {
			moved = append(moved, s.allocations[id])
		}
	}
	if len(moved) > fewMoved {
		s.lineUpWaiting()
		return
	}
	for _, a := range moved {
		s.leaveWaiting(a) // before any comes back: a line is in order then but for these
	}
	for _, a := range moved {
		s.waitingOf(a.Pool).addAllocation(a)
	}
}

// lineUpWaiting makes the waitlists again, after what changes the order of many.
func (s *state) lineUpWaiting() {
	clear(s.waiting)
	for _, a := range s.allocations {
		a.line = nil
		w := s.waitingOf(a.Pool)
		if a.standsAlone() {
			w.single[a.Allocation] = a
			continue
		}
		a.line, a.shownIn = w.lineFor(a), 0
		a.line.members = append(a.line.members, a)
	}
	for _, w := range s.waiting {
		for _, l := range w.lines {
			slices.SortFunc(l.members, compareWaiting)
		}
	}
}

// room is how much of a pool could be given away, in slots and in places for tasks without.
type room struct{ slots, aux int }

// countFitting is how many allocations of so many slots fit at most.
func (r room) countFitting(slots int) int {
	if slots == 0 {
		return max(r.aux, 0)
	}
	return max(r.slots, 0) / slots
}

// members are the allocations of a pool that a pass looks at: of each line as many as could start, one
// that says why the others wait, and all where machines are launched for what waits. The caller does
// not hold the lock.
func (s *state) members(p Pool, l *lineup) []*allocation {
	out := s.single(p)
	left := l.room
	s.inTurns(len(out), func(i int) { s.takeRoom(&left, p, out[i]) })
	_, launches := s.cfg.Machine(p.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	lines := s.waitingOf(p.Name).lines
	for key, l := range lines {
		n := len(l.members)
		if !launches {
			n = min(n, left.countFitting(key.slots)+1)
		}
		out = l.showFirst(out, n)
		if len(l.members) == 0 {
			delete(lines, key)
		}
	}
	return out
}

// single are the allocations of a pool that stand alone. The caller does not hold the lock.
func (s *state) single(p Pool) []*allocation {
	s.mu.Lock()
	n := len(s.waitingOf(p.Name).single)
	s.mu.Unlock()
	// Not under the lock, as in snapshotPool, with room for those of the lines and for what comes meanwhile.
	out := make([]*allocation, 0, 2*n)
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(out, maps.Values(s.waitingOf(p.Name).single))
}

// takeRoom takes from the room of a pool what an allocation holds and keeps.
func (s *state) takeRoom(left *room, p Pool, a *allocation) {
	if a.phase != Placed || a.release != nil || p.Scheduler.Preemption && a.Preemptible {
		return
	}
	for _, c := range a.containers {
		agent := s.agents[c.agent]
		if c.hasEnded() || agent == nil || agent.pool != p.Name {
			continue
		}
		if a.Slots == 0 {
			left.aux--
		}
		for _, d := range c.devices {
			if agent.hasDevice(d.GetId()) {
				left.slots--
			}
		}
	}
}

func (a *agent) hasDevice(id int32) bool {
	return slices.ContainsFunc(a.devices, func(d *apiv1.Device) bool { return d.GetId() == id })
}

// explainLines notes why those wait that the pass did not see. It reports whether the last that it saw of
// a line has been placed: then there may be room for the next.
func (s *state) explainLines(p Pool) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.waitingOf(p.Name).lines {
		if l.last == nil {
			continue
		}
		l.reason = l.last.waiting
		more = more || l.last.phase != Queued && len(l.members) > 0
	}
	return more
}

// waitsFor is why an allocation waits; empty when no pass has looked at it.
func (a *allocation) waitsFor() pool.Reason {
	if a.line != nil && a.shownIn != a.line.passes {
		return a.line.reason
	}
	return a.waiting
}
