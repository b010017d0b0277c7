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

// maxMargin is how much longer than an agent the master waits: an agent that has had
// no answer for the wait ends what is run again elsewhere, which takes a moment.
const maxMargin = 5 * time.Second

// lostWait is how long the containers of a lost agent are kept.
func (p Pool) lostWait() time.Duration { return p.ReconnectWait + min(maxMargin, p.ReconnectWait/2) }

// lookLimit is how many agents or allocations are looked at, or placed, before others
// may go on: of 100,000 the lock is given back 400 times.
const lookLimit = 250

// inTurns calls do for 0 to n-1, a few at a time under the lock. The caller does not hold
// it.
func (s *state) inTurns(n int, do func(i int)) {
	for from := 0; from < n; from += lookLimit {
		s.mu.Lock()
		for i := from; i < min(from+lookLimit, n); i++ {
			do(i)
		}
		s.mu.Unlock()
	}
}

// snapshotPool is a pool as the scheduler sees it, and when time alone changes it; zero is
// never. What is not to be placed yet is not in it. Others go on meanwhile, so that its
// parts are of different moments: what acts by it looks again. The caller does not
// hold the lock.
func (s *state) snapshotPool(p Pool, now time.Time) (snapshot pool.Pool, changes time.Time) {
	l := s.lineUp(p)
	allocations := s.members(p, l)
	room := s.cfg.Room(p.Name)
	snapshot = pool.Pool{
		Scheduler: p.Scheduler, MaxAux: p.MaxAux, Agents: l.agents, Inventory: l.inventory,
		Room: slices.Concat(room, l.lost),
		// Not under the lock: to make room for many, and for what the collector wants for it, takes long.
		Allocations: make([]pool.Allocation, 0, len(allocations)),
	}
	s.inTurns(len(allocations), func(i int) {
		a := allocations[i]
		if a.Pool != p.Name || !a.lookAt(s.looks) {
			return // its job was changed meanwhile, and none is looked at twice
		}
		changes = earliestTime(changes, a.changesAt(now))
		if a.phase == Over || a.isHeld(now) {
			return
		}
		one := a.forScheduler()
		if d := s.divisionOf(l, p.Name, a.Request); d != nil && a.phase == Queued {
			var launched []pool.Shape
			if s.launched[p.Name].refuse(needsOf(a.Request)) == "" {
				launched = room
			}
			if !d.hasRoom(a.Request, p.MaxAux, launched) {
				a.waiting = forAbleAgent // and holds up no other
				return
			}
			one.Exclude = append(one.Exclude, d.refusing...)
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

// forScheduler is the agent as the scheduler sees it.
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

// lookAt reports whether a look is the first that sees the allocation, and notes it.
func (a *allocation) lookAt(look uint64) bool {
	seen := a.look == look
	a.look = look
	return !seen
}

// isHeld reports whether a waiting allocation is not to be placed yet.
func (a *allocation) isHeld(now time.Time) bool { return a.phase == Queued && a.NotBefore.After(now) }

// avoidFor is how long a task avoids the agents that could not start it, from when it may
// be placed again: by then one that is not known to be sick is as good as another.
const avoidFor = time.Minute

// avoidsUntil is when the allocation takes any agent again.
func (a *allocation) avoidsUntil() time.Time {
	if len(a.Avoid) == 0 {
		return time.Time{}
	}
	return a.NotBefore.Add(avoidFor)
}

// changesAt is when time alone changes where a waiting allocation may be placed; zero is
// never.
func (a *allocation) changesAt(now time.Time) time.Time {
	switch {
	case a.isHeld(now):
		return a.NotBefore
	case a.phase == Queued && now.Before(a.avoidsUntil()):
		return a.avoidsUntil()
	}
	return time.Time{}
}

// fitsElsewhere reports whether an allocation fits on the agents of a pool that take tasks
// now, without those that could not start it. Agents that others occupy count: for a
// while it waits for them.
func (p Pool) fitsElsewhere(q *allocation, takers []*agent) bool {
	c := pool.Capacity{MaxAux: p.MaxAux}
	for _, a := range takers {
		if !slices.Contains(q.Avoid, a.id) && a.restrictions.refuse(needsOf(q.Request)) == "" {
			c.Shapes = append(c.Shapes, pool.Shape{Slots: len(a.devices), Count: 1})
		}
	}
	return pool.Fits(c, q.Slots, q.SingleNode)
}

// lineup is the agents of a pool as the scheduler sees them. It is never changed; it is made again once
// an agent has come, gone or changed, so that a task costs no more in a large pool than in a small one.
type lineup struct {
	// version is that of the agents that were looked at.
	version uint64
	agents  []pool.Agent // by id
	// lost are the machines that are waited for, takers the agents that take tasks now.
	lost      []pool.Shape
	takers    []*agent
	inventory *pool.Inventory
	// divisions are the agents by the needs of tasks.
	divisions map[needs]*division
	// room is what all of them have.
	room room
}

// size is how large the agents of a pool are.
type size struct {
	version uint64
	agents  int
	// most is the devices of the largest.
	most   int
	shapes []pool.Shape
}

// noteAgents is called when an agent has come, gone or changed in what the scheduler sees of it.
func (s *state) noteAgents() { s.agentsVersion++ }

// lineUp is the lineup of a pool. Others go on while it is made, so that its parts are of different
// moments: it is not kept then. The caller does not hold the lock.
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
	s.lineups[p.Name] = l // with an old version it is made again
	return l
}

func (l *lineup) addAgent(a *agent) {
	l.agents = append(l.agents, a.forScheduler())
	l.room.slots += len(a.devices)
	for n, d := range l.divisions {
		d.addAgent(a, a.restrictions.refuse(n))
	}
	if a.presence == Lost && a.state == rm.Enable && a.notice == nil && a.sick == nil {
		// It counts as a machine to come, so that a broken link of seconds
		// does not let lower priorities pass.
		l.lost = append(l.lost, pool.Shape{Slots: len(a.devices), Count: 1})
	}
	if a.presence == Connected && a.state == rm.Enable && !a.takesNothing() {
		l.takers = append(l.takers, a)
	}
}

// sizeOf is the size of a pool. The caller holds the lock.
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
