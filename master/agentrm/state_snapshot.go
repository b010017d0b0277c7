package agentrm

import (
	"cmp"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func earliestTime(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// maxMargin bounds the time that the master waits longer than an agent. An agent without an answer
// during the wait ends the containers that will run elsewhere, which takes a moment.
const maxMargin = 5 * time.Second

// lostWait returns the time that the containers of a lost agent are kept.
func (p Pool) lostWait() time.Duration { return p.ReconnectWait + min(maxMargin, p.ReconnectWait/2) }

// lookLimit is the number of agents or allocations that are visited or placed before the lock is
// released for others: with 100,000 it is released 400 times.
const lookLimit = 250

// inTurns calls do for 0 to n-1, a few at a time under the lock. The caller does not hold the lock.
func (s *state) inTurns(n int, do func(i int)) {
	for from := 0; from < n; from += lookLimit {
		s.mu.Lock()
		for i := from; i < min(from+lookLimit, n); i++ {
			do(i)
		}
		s.mu.Unlock()
	}
}

// snapshotPool returns a pool as input of the scheduler, and when it changes without an event; zero
// means never. It leaves out allocations that are not to be placed yet. The lock is released in between,
// so that parts of the snapshot may be inconsistent: callers that act on it check again. The caller does
// not hold the lock.
func (s *state) snapshotPool(p Pool, now time.Time) (snapshot pool.Pool, changes time.Time) {
	l := s.lineUp(p)
	allocations := s.members(p, l)
	room := s.cfg.Room(p.Name)
	snapshot = pool.Pool{
		Scheduler: p.Scheduler, MaxAux: p.MaxAux, Agents: l.agents, Inventory: l.inventory,
		Room: slices.Concat(room, l.lost),
		// Allocated without the lock: a large allocation may take long, including garbage collection.
		Allocations: make([]pool.Allocation, 0, len(allocations)),
	}
	s.inTurns(len(allocations), func(i int) {
		a := allocations[i]
		if a.Pool != p.Name || !a.lookAt(s.looks) {
			return // its job was changed meanwhile, or it was already visited
		}
		changes = earliestTime(changes, a.changesAt(now))
		if a.phase == Over || a.isHeld(now) {
			return
		}
		one, able := s.forPass(p, l, a, room)
		if !able {
			a.waiting = forAbleAgent // and does not block others
			return
		}
		if now.Before(a.avoidsUntil()) && p.fitsElsewhere(a, l.takers) {
			for _, id := range a.Avoid {
				one.Exclude = append(one.Exclude, pool.AgentID(id))
			}
		}
		snapshot.Allocations = append(snapshot.Allocations, one)
	})
	return snapshot, changes
}

// forPass returns an allocation as input of the scheduler, without the agents that cannot run it. It
// reports false if no agent or machine of the pool can, so that it must wait.
func (s *state) forPass(p Pool, l *lineup, a *allocation, room []pool.Shape) (one pool.Allocation, able bool) {
	one = a.forScheduler()
	d := s.divisionOf(l, p.Name, a.Request)
	if d == nil || a.phase != Queued {
		return one, true
	}
	var launched []pool.Shape
	if s.launched[p.Name].refuse(needsOf(a.Request)) == "" {
		launched = room
	}
	one.Exclude = append(one.Exclude, d.refusing...)
	return one, d.hasRoom(a.Request, p.MaxAux, launched)
}

// forScheduler returns the agent as input of the scheduler.
func (a *agent) forScheduler() pool.Agent {
	out := pool.Agent{
		ID: pool.AgentID(a.id), Enabled: a.presence == Connected && a.state != rm.Disable,
		Draining: a.takesNothing(), Lost: a.presence == Lost, Slots: make([]pool.Slot, 0, len(a.devices)),
	}
	for _, d := range a.devices {
		state := a.slotSwitch(int(d.GetId()))
		out.Slots = append(out.Slots, pool.Slot{
			ID: int(d.GetId()), Enabled: state != rm.Disable, Draining: state == rm.Drain,
		})
	}
	return out
}

// lookAt records a look at the allocation, and reports whether it is the first with this number.
func (a *allocation) lookAt(look uint64) bool {
	seen := a.look == look
	a.look = look
	return !seen
}

// isHeld reports whether a waiting allocation is not to be placed yet.
func (a *allocation) isHeld(now time.Time) bool { return a.phase == Queued && a.NotBefore.After(now) }

// avoidFor is the time that a task avoids the agents that could not start it, from when it may be placed
// again. After that, one that is not known to be sick is as good as another.
const avoidFor = time.Minute

// avoidsUntil returns the time from which the allocation accepts any agent again.
func (a *allocation) avoidsUntil() time.Time {
	if len(a.Avoid) == 0 {
		return time.Time{}
	}
	return a.NotBefore.Add(avoidFor)
}

// changesAt returns when the possible placement of a waiting allocation changes without an event; zero
// means never.
func (a *allocation) changesAt(now time.Time) time.Time {
	switch {
	case a.isHeld(now):
		return a.NotBefore
	case a.phase == Queued && now.Before(a.avoidsUntil()):
		return a.avoidsUntil()
	}
	return time.Time{}
}

// fitsElsewhere reports whether an allocation fits on the agents of a pool that take tasks now, without
// those that could not start it. Occupied agents count: the allocation waits for them for a while.
func (p Pool) fitsElsewhere(q *allocation, takers []*agent) bool {
	c := pool.Capacity{MaxAux: p.MaxAux}
	for _, a := range takers {
		if !slices.Contains(q.Avoid, a.id) && a.restrictions.refuse(needsOf(q.Request)) == "" {
			c.Shapes = append(c.Shapes, pool.Shape{Slots: len(a.devices), Count: 1})
		}
	}
	return pool.Fits(c, q.Slots, q.SingleNode)
}

// lineup is the agents of a pool as input of the scheduler. It is immutable and cached until an agent
// joins, leaves or changes, so that the cost of a task does not depend on the size of the pool.
type lineup struct {
	// version is the version of the agents that were visited.
	version uint64
	agents  []pool.Agent // by id
	// lost are the shapes of machines expected to return, takers the agents that take tasks now.
	lost      []pool.Shape
	takers    []*agent
	inventory *pool.Inventory
	// divisions classify the agents by the needs of tasks.
	divisions map[needs]*division
	// room is the total capacity.
	room room
}

// size describes the number and sizes of a pool's agents.
type size struct {
	version uint64
	agents  int
	// most is the number of devices of the largest agent.
	most   int
	shapes []pool.Shape
}

// noteAgents must be called when an agent has joined, left or changed in a way that the scheduler sees.
func (s *state) noteAgents() { s.agentsVersion++ }

// lineUp returns the lineup of a pool. The lock is released while it is computed; if an agent changes
// meanwhile, the result is not reused. The caller does not hold the lock.
func (s *state) lineUp(p Pool) *lineup {
	s.mu.Lock()
	kept, version := s.lineups[p.Name], s.agentsVersion
	if kept != nil && kept.version == version {
		s.mu.Unlock()
		return kept
	}
	var members []*agent
	for _, a := range s.agents {
		if a.pool == p.Name {
			members = append(members, a)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(members, func(a, b *agent) int { return cmp.Compare(a.id, b.id) })
	l := &lineup{
		version: version, agents: make([]pool.Agent, 0, len(members)), takers: make([]*agent, 0, len(members)),
		divisions: make(map[needs]*division),
	}
	for _, n := range everyNeed() {
		l.divisions[n] = &division{}
	}
	s.inTurns(len(members), func(i int) { l.addAgent(members[i]) })
	l.inventory = pool.TakeInventory(l.agents, p.MaxAux)
	l.room.aux = p.MaxAux * len(l.agents)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lineups[p.Name] = l // with an outdated version it is computed again
	return l
}

func (l *lineup) addAgent(a *agent) {
	l.agents = append(l.agents, a.forScheduler())
	l.room.slots += len(a.devices)
	for n, d := range l.divisions {
		d.addAgent(a, a.restrictions.refuse(n))
	}
	if a.presence == Lost && a.state == rm.Enable && a.notice == nil && a.sick == nil {
		// It counts as a future machine, so that lower priorities do not overtake because of a link that
		// is broken for seconds.
		l.lost = append(l.lost, pool.Shape{Slots: len(a.devices), Count: 1})
	}
	if a.presence == Connected && a.state == rm.Enable && !a.takesNothing() {
		l.takers = append(l.takers, a)
	}
}

// sizeOf returns the size of a pool. The caller holds the lock.
func (s *state) sizeOf(name string) size {
	if kept, found := s.sizes[name]; found && kept.version == s.agentsVersion {
		return kept
	}
	out := size{version: s.agentsVersion}
	counts := map[int]int{}
	for _, a := range s.agents {
		if a.pool == name {
			out.agents++
			out.most = max(out.most, len(a.devices))
			counts[len(a.devices)]++
		}
	}
	for slots, n := range counts {
		out.shapes = append(out.shapes, pool.Shape{Slots: slots, Count: n})
	}
	s.sizes[name] = out
	return out
}
