package pool

import "slices"

// board is the index of what agents can give, in units: slots in the slotted
// pass, places for containers in the auxiliary one. Agents are numbered in the
// order of their ids, and found by how much they have, so that one request is
// answered without visiting a thousand machines.
type board struct {
	units []int
	// byUnits holds, for each number of units, the agents that have exactly
	// that many, ascending.
	byUnits [][]int
	counts  histogram
}

func newBoard(units []int) *board {
	b := &board{units: slices.Clone(units)}
	for agent, n := range units {
		b.insert(agent, n)
	}
	return b
}

func (b *board) insert(agent, units int) {
	for len(b.byUnits) <= units {
		b.byUnits = append(b.byUnits, nil)
	}
	row := b.byUnits[units]
	at, _ := slices.BinarySearch(row, agent)
	b.byUnits[units] = slices.Insert(row, at, agent)
	b.counts.addCount(units, 1)
}

// changeFree gives an agent units, or takes some away.
func (b *board) changeFree(agent, by int) {
	if by == 0 {
		return
	}
	old := b.units[agent]
	row := b.byUnits[old]
	at, _ := slices.BinarySearch(row, agent)
	b.byUnits[old] = slices.Delete(row, at, at+1)
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
func (b *board) chooseAgents(r request, fitting Fitting, idle func(agent int) bool) []int {
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
		for _, wantIdle := range [2]bool{m > 1, m == 1} {
			for _, agent := range b.byUnits[units] {
				if idle(agent) != wantIdle || slices.Contains(r.exclude, agent) {
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
