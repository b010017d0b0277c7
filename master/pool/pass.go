package pool

import "slices"

// kind selects one of the two independent passes.
type kind bool

const (
	slotted   kind = false
	auxiliary kind = true
)

// takes reports whether an allocation is of the kind.
func (k kind) takes(a Allocation) bool { return (a.Slots == 0) == bool(k) }

// pass is one walk through the queue, for slots or for auxiliary places.
type pass struct {
	scheduler Scheduler
	kind      kind
	agents    []Agent
	index     map[AgentID]int
	// sizes is the number of units of each agent when nothing runs on it; capacity counts the agents by
	// that number, and the machines that may still be launched.
	sizes    []int
	capacity histogram
	// machines is the number of usable agents and of machines that may still be launched.
	machines int
	// free is the units that agents can give now, and slots their free slots; soon includes the units
	// being released. Starts and promises are taken from all three.
	free  *board
	soon  *board
	slots [][]int
	// owned marks the agents whose slots were copied from the inventory to be changed.
	owned []bool

	pending []*Allocation
	victims *victims

	// Requests without exclusions that did not fit. During a pass free room only shrinks, and so does
	// the sum of room and victims with every further requester, so that a request that failed once need
	// not be tried again. The room in soon grows when victims free more than was needed.
	noFree, noSoon, noVictims map[shape]bool
}

// shape is a request without exclusions.
type shape struct {
	units  int
	single bool
}

// holding is a running allocation and the units that it frees when it stops.
type holding struct {
	*Allocation
	gains []gain
	// asked is set once it was asked to stop in this pass.
	asked bool
}

// gain is the units that an agent regains when a holding ends. Slots that have since been disabled or
// are draining do not count.
type gain struct{ agent, units int }

func newPass(p Pool, n *Inventory, ordered []*Allocation, k kind) *pass {
	s := &pass{
		scheduler: p.Scheduler, kind: k, agents: n.agents, index: n.index, machines: n.machines,
		sizes: n.sizes[k], slots: slices.Clone(n.slots), owned: make([]bool, len(n.agents)), capacity: slices.Clone(n.capacity[k]),
		noFree: make(map[shape]bool), noSoon: make(map[shape]bool), noVictims: make(map[shape]bool),
	}
	for _, r := range p.Room {
		s.machines += r.Count
		if k == auxiliary {
			r.Slots = p.MaxAux
		}
		s.capacity.addCount(r.Slots, r.Count)
	}
	s.occupyRunning(ordered)
	return s
}

// occupyRunning subtracts the resources of running allocations and collects the pending ones.
func (p *pass) occupyRunning(ordered []*Allocation) {
	free, releasing := slices.Clone(p.sizes), make([]int, len(p.sizes))
	var running []*holding
	for _, a := range ordered {
		if !p.kind.takes(*a) {
			continue
		}
		if a.State == Pending {
			p.pending = append(p.pending, a)
			continue
		}
		h := &holding{Allocation: a, gains: p.removeSlots(a)}
		for _, g := range h.gains {
			free[g.agent] -= g.units
			if a.State == Releasing {
				releasing[g.agent] += g.units
			}
		}
		if a.State == Running && a.Preemptible && len(h.gains) > 0 {
			running = append(running, h)
		}
	}
	soon := make([]int, len(free))
	for i := range free {
		// If the limit on auxiliary containers was lowered, there may be more of them than places.
		soon[i] = max(free[i]+releasing[i], 0)
		free[i] = max(free[i], 0)
	}
	p.free, p.soon = newBoard(free, p.sizes), newBoard(soon, p.sizes)
	p.victims = newVictims(running, p.soon)
}

// removeSlots removes the slots of a from the free ones and returns them as gains.
func (p *pass) removeSlots(a *Allocation) []gain {
	var gains []gain
	for _, share := range a.Placement {
		i, known := p.index[share.Agent]
		if !known {
			continue
		}
		units := 0
		if p.kind == auxiliary && p.sizes[i] > 0 {
			units = 1
		}
		for _, id := range share.Slots {
			if at, found := slices.BinarySearch(p.slots[i], id); found {
				p.slots[i] = slices.Delete(p.ownSlots(i), at, at+1)
				units++
			}
		}
		if units > 0 {
			gains = append(gains, gain{agent: i, units: units})
		}
	}
	return gains
}

// ownSlots returns a copy of an agent's slots that this pass may change. The inventory's own slots are
// shared.
func (p *pass) ownSlots(agent int) []int {
	if !p.owned[agent] {
		p.owned[agent], p.slots[agent] = true, slices.Clone(p.slots[agent])
	}
	return p.slots[agent]
}

func (p *pass) placeRequest(a *Allocation) request {
	r := request{units: a.Slots, single: a.SingleNode}
	if p.kind == auxiliary {
		r = request{units: 1, single: true}
	}
	for _, id := range a.Exclude {
		if i, known := p.index[id]; known && !slices.Contains(r.exclude, i) {
			r.exclude = append(r.exclude, i)
		}
	}
	return r
}

// findRoom returns agents of b with room for r, or nil. It does not search again for a request that has
// failed in this pass.
func (p *pass) findRoom(b *board, r request, failed map[shape]bool) []int {
	key := shape{units: r.units, single: r.single}
	if failed[key] {
		return nil
	}
	agents := b.chooseAgents(r, p.scheduler.Fitting)
	if agents == nil && len(r.exclude) == 0 {
		failed[key] = true
	}
	return agents
}

// startOne takes free room for r, and reports false if there is not enough.
func (p *pass) startOne(r request) ([]Share, bool) {
	agents := p.findRoom(p.free, r, p.noFree)
	if agents == nil {
		return nil, false
	}
	placement, units := make([]Share, len(agents)), r.units/len(agents)
	for i, agent := range agents {
		placement[i].Agent = p.agents[agent].ID
		if p.kind == slotted {
			placement[i].Slots = slices.Clone(p.slots[agent][:units])
			p.slots[agent] = p.slots[agent][units:]
		}
		p.free.changeFree(agent, -units)
		p.changeSoon(agent, -units)
	}
	return placement, true
}

// promiseSlots reserves room for r, including units that are still being released. It reports false if there is
// not enough.
func (p *pass) promiseSlots(r request) bool {
	agents := p.findRoom(p.soon, r, p.noSoon)
	for _, agent := range agents {
		units := r.units / len(agents)
		now := min(units, p.free.units[agent])
		if p.kind == slotted {
			p.slots[agent] = p.slots[agent][now:]
		}
		p.free.changeFree(agent, -now)
		p.changeSoon(agent, -units)
	}
	return agents != nil
}

// changeSoon changes the units that an agent will have once all releases are complete.
func (p *pass) changeSoon(agent, by int) {
	p.soon.changeFree(agent, by)
	p.victims.changed(agent)
}

// couldFit reports whether r fits an empty pool with all machines launched.
func (p *pass) couldFit(r request) bool {
	less := make([]int, 0, len(r.exclude))
	for _, agent := range r.exclude {
		less = append(less, p.sizes[agent])
	}
	return p.capacity.fewestMachines(r.units, r.single, less) > 0
}
