package pool

import "slices"

// board indexes agents by their free units: slots in the slotted pass, places for containers in the
// auxiliary one. Agents are numbered in the order of their ids. The index is by the number of free units
// and by whether the agent is idle, so that a request is served without visiting each of a thousand
// machines.
type board struct {
	// sizes is the number of units of each agent when it is idle.
	units, sizes []int
	// byUnits is indexed by the number of free units.
	byUnits []row
	counts  histogram
}

// row holds the agents that have the same number of free units.
type row struct{ idle, busy agentSet }

// newBoard returns the index of agents with the given free units. An agent is idle if its free units
// equal its size.
func newBoard(units, sizes []int) *board {
	b := &board{units: slices.Clone(units), sizes: sizes}
	for agent, n := range units {
		b.insert(agent, n)
	}
	return b
}

// setOf returns the set that an agent with so many free units belongs to.
func (b *board) setOf(agent, units int) *agentSet {
	if units == b.sizes[agent] {
		return &b.byUnits[units].idle
	}
	return &b.byUnits[units].busy
}

func (b *board) insert(agent, units int) {
	for len(b.byUnits) <= units {
		b.byUnits = append(b.byUnits, row{})
	}
	b.setOf(agent, units).add(agent)
	b.counts.addCount(units, 1)
}

// changeFree adds to the free units of an agent; by may be negative.
func (b *board) changeFree(agent, by int) {
	if by == 0 {
		return
	}
	old := b.units[agent]
	b.setOf(agent, old).remove(agent)
	b.counts[old]--
	b.units[agent] = old + by
	b.insert(agent, old+by)
}

// request is the shape of a requested placement.
type request struct {
	units   int
	single  bool
	exclude []int
}

// fewestAgents returns the smallest number of agents that r can be split over, or 0.
func (b *board) fewestAgents(r request) int {
	less := make([]int, 0, len(r.exclude))
	for _, agent := range r.exclude {
		less = append(less, b.units[agent])
	}
	return b.counts.fewestMachines(r.units, r.single, less)
}

// chooseAgents returns the agents that serve r with equal shares, or nil. It uses as few agents as
// possible and selects among those by the fitting. A task on several machines prefers idle ones, because
// its slowest container determines its speed; a task on one machine prefers busy ones, so that idle
// machines stay whole.
func (b *board) chooseAgents(r request, fitting Fitting) []int {
	m := b.fewestAgents(r)
	if m == 0 {
		return nil
	}
	share, out := r.units/m, make([]int, 0, m)
	for i := range len(b.byUnits) - share {
		units := share + i
		if fitting == Worst {
			units = len(b.byUnits) - 1 - i
		}
		sets := [2]agentSet{b.byUnits[units].busy, b.byUnits[units].idle}
		if m > 1 {
			slices.Reverse(sets[:])
		}
		for _, set := range sets {
			for agent := range set.all() {
				if slices.Contains(r.exclude, agent) {
					continue
				}
				if out = append(out, agent); len(out) == m {
					slices.Sort(out)
					return out
				}
			}
		}
	}
	return nil
}
