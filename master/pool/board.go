package pool

import "slices"

// board is the index of what agents can give, in units: slots in the slotted
// pass, places for containers in the auxiliary one. Agents are numbered in the
// order of their ids, and found by how much they have and whether something runs on
// them, so that one request is answered without visiting a thousand machines.
type board struct {
	// sizes is what each agent has when it is idle.
	units, sizes []int
	// byUnits holds, for each number of units, the agents that have exactly
	// that many.
	byUnits []row
	counts  histogram
}

// row is agents that have equally many units.
type row struct{ idle, busy agentSet }

// newBoard counts what each agent has; an agent that has its whole size is idle.
func newBoard(units, sizes []int) *board {
	b := &board{units: slices.Clone(units), sizes: sizes}
	for agent, n := range units {
		b.insert(agent, n)
	}
	return b
}

// setOf is the set that an agent with so many units is in.
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

// changeFree gives an agent units, or takes some away.
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

// request is the shape of what is asked for.
type request struct {
	units   int
	single  bool
	exclude []int
}

// fewestAgents returns over how few agents r can be split, or 0.
func (b *board) fewestAgents(r request) int {
	less := make([]int, 0, len(r.exclude))
	for _, agent := range r.exclude {
		less = append(less, b.units[agent])
	}
	return b.counts.fewestMachines(r.units, r.single, less)
}

// chooseAgents picks the agents that serve r, all with the same share: the fewest
// possible, and among them by the fitting. A task on several machines prefers
// idle ones, where nothing else slows the slowest of its containers; a task on
// one machine prefers those in use, so that idle machines stay whole.
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
