package agentrm

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

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
	l := &lineup{version: version, agents: make([]pool.Agent, 0, len(members)), takers: make([]*agent, 0, len(members))}
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
