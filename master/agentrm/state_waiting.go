package agentrm

import (
	"maps"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// waitlist is the allocations of a pool in the form that passes use. Waiting allocations that differ
// only in their position form a line, from which a pass takes as many as could start: a long queue costs
// no more than a short one.
type waitlist struct {
	lines map[alike]*line
	// single are the allocations that every pass visits: placed ones, and waiting ones with individual
	// conditions.
	single map[rm.AllocationID]*allocation
}

func newWaitlist() *waitlist {
	return &waitlist{lines: make(map[alike]*line), single: make(map[rm.AllocationID]*allocation)}
}

// standsAlone reports whether every pass must visit the allocation individually.
func (a *allocation) standsAlone() bool {
	return a.phase != Queued || a.SlotLimit() > 0 || !a.NotBefore.IsZero() || len(a.Avoid)+len(a.ExcludedAgents) > 0
}

// addAllocation adds an allocation to its line, or to the single ones.
func (w *waitlist) addAllocation(a *allocation) {
	if a.standsAlone() {
		w.single[a.Allocation] = a
		return
	}
	l := w.lineFor(a)
	a.line, a.shownIn = l, 0
	if n := len(l.members); n == 0 || compareWaiting(l.members[n-1], a) < 0 {
		l.members = append(l.members, a) // most are added in order
		return
	}
	at, _ := slices.BinarySearchFunc(l.members, a, compareWaiting)
	l.members = slices.Insert(l.members, at, a)
}

// lineFor returns the line in which an allocation waits.
func (w *waitlist) lineFor(a *allocation) *line {
	key := alike{slots: a.Slots, priority: a.Priority, single: a.SingleNode, preemptible: a.Preemptible, needs: needsOf(a.Request)}
	l := w.lines[key]
	if l == nil {
		l = &line{}
		w.lines[key] = l
	}
	return l
}

// waitingOf returns the waitlist of a pool.
func (s *state) waitingOf(name string) *waitlist {
	w := s.waiting[name]
	if w == nil {
		w = newWaitlist()
		s.waiting[name] = w
	}
	return w
}

// leaveWaiting removes an allocation from its waitlist.
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

// holdSlots records that an allocation no longer waits.
func (s *state) holdSlots(a *allocation) {
	s.leaveWaiting(a)
	s.waitingOf(a.Pool).single[a.Allocation] = a
}

// fewMoved is the maximum number of allocations that are moved one by one.
const fewMoved = 16

// moveWaiting moves the allocations of jobs to their current positions, after a change of the jobs.
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
		s.leaveWaiting(a) // all are removed before any is added again, so that the rest of each line is in order
	}
	for _, a := range moved {
		s.waitingOf(a.Pool).addAllocation(a)
	}
}

// lineUpWaiting rebuilds the waitlists, after a change of the order of many allocations.
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

// room is a pool's free capacity, in slots and in places for zero-slot tasks.
type room struct{ slots, aux int }

// countFitting returns the maximum number of allocations of so many slots that fit.
func (r room) countFitting(slots int) int {
	if slots == 0 {
		return max(r.aux, 0)
	}
	return max(r.slots, 0) / slots
}

// members returns the allocations of a pool that a pass visits: of each line as many as could start and
// one more, which yields the reason why the others wait, or the whole line if machines are launched for
// waiting tasks. The caller does not hold the lock.
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

// single returns the single allocations of a pool. The caller does not hold the lock.
func (s *state) single(p Pool) []*allocation {
	s.mu.Lock()
	n := len(s.waitingOf(p.Name).single)
	s.mu.Unlock()
	// Allocated without the lock, as in snapshotPool, with room for those of the lines and later ones.
	out := make([]*allocation, 0, 2*n)
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(out, maps.Values(s.waitingOf(p.Name).single))
}

// takeRoom subtracts from the room of a pool the slots that an allocation holds and keeps.
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

// explainLines records why the allocations wait that the pass did not visit. It reports whether the last
// visited one of a line was placed, because there may be room for the next one then.
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

// waitsFor returns the reason why an allocation waits, or "" if no pass has visited it.
func (a *allocation) waitsFor() pool.Reason {
	if a.line != nil && a.shownIn != a.line.passes {
		return a.line.reason
	}
	return a.waiting
}
