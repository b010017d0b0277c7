package pool

import "slices"

// kind is which of the two independent passes is run.
type kind bool

const (
	slotted   kind = false
	auxiliary kind = true
)

// takes says whether an allocation is one of the kind.
func (k kind) takes(a Allocation) bool { return (a.Slots == 0) == bool(k) }

// pass is one walk through the queue, for slots or for auxiliary places.
type pass struct {
	scheduler Scheduler
	kind      kind
	agents    []Agent
	index     map[AgentID]int
	// sizes is what each agent could give if nothing ran on it; capacity counts
	// them, together with what may still be launched.
	sizes    []int
	capacity histogram
	// machines are the agents that may be given something, and what may still be
	// launched.
	machines int
	// free is what agents can give now and slots which slots those are; soon
	// adds what is being released. Starts and promises are taken from all three.
	free  *board
	soon  *board
	slots [][]int
	// owned says of which agents the slots are not those of the inventory any more.
	owned []bool

	pending []*Allocation
	victims *victims

	// Plain requests that did not fit. In a pass free room only shrinks, and so
	// does the sum of room and victims with every further requester; a request
	// that failed once need not be tried again. What will be free soon grows
	// when victims give up more than was asked for.
	noFree, noSoon, noVictims map[shape]bool
}

// shape is a request without exclusions.
type shape struct {
	units  int
	single bool
}

// holding is what a running allocation gives back when it stops.
type holding struct {
	*Allocation
	gains []gain
	// asked says that it was asked to stop in this pass.
	asked bool
}

// gain is what one agent can give once a holding is gone; slots that are
// disabled or draining by now gain nothing.
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

// occupyRunning takes away what running allocations hold and sorts the others.
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
		// A lowered limit on auxiliary containers leaves more of them than
		// there are places.
		soon[i] = max(free[i]+releasing[i], 0)
		free[i] = max(free[i], 0)
	}
	p.free, p.soon = newBoard(free, p.sizes), newBoard(soon, p.sizes)
	p.victims = newVictims(running, p.soon)
}

// removeSlots takes the slots of a out of those that are free.
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

// ownSlots are an agent's slots for this pass to change: those of the inventory stay.
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

// findRoom looks for room on b, unless the same request is known to have none.
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

// startOne takes free room for r.
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

// promiseSlots holds room for r that is partly still being released.
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

// changeSoon changes what an agent will be able to give once what is being released is.
func (p *pass) changeSoon(agent, by int) {
	p.soon.changeFree(agent, by)
	p.victims.changed(agent)
}

// couldFit reports whether r fits an empty pool with everything launched.
func (p *pass) couldFit(r request) bool {
	less := make([]int, 0, len(r.exclude))
	for _, agent := range r.exclude {
		less = append(less, p.sizes[agent])
	}
	return p.capacity.fewestMachines(r.units, r.single, less) > 0
}
