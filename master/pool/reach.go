package pool

import (
	"iter"
	"slices"
)

// none stands for the number of a holding where there is none.
const none = -1

// reach says of each agent from which victim on it has some number of units, when all
// less important ones are gone too. Agents are found by that number, the least important
// first.
type reach struct {
	victims *victims
	units   int
	// at is by agent: the number of the victim, already() where no victim is needed, and
	// none where all of them are too few.
	at []int
	// first is by number an agent that has it, and next by agent another one.
	first, next []int
	// tree counts agents by their numbers: a Fenwick tree, in which a sum over all up to a
	// number, and the n-th agent, take steps like the logarithm of its length.
	tree  []int
	total int
	// stale are agents whose number may be another by now.
	stale []int
}

// reachOf is the reach of units, as things are now.
func (v *victims) reachOf(units int) *reach {
	r, known := v.reached[units]
	if !known {
		r = &reach{
			victims: v, units: units, tree: make([]int, len(v.running)+2),
			at: slices.Repeat([]int{none}, len(v.soon.units)), next: slices.Repeat([]int{none}, len(v.soon.units)),
			first: slices.Repeat([]int{none}, len(v.running)+1),
		}
		for agent := range r.at {
			r.stale = append(r.stale, agent)
		}
		v.reached[units] = r
	}
	for _, agent := range r.stale {
		r.move(agent, r.find(agent))
	}
	r.stale = r.stale[:0]
	return r
}

// already is the number of agents that need no victim.
func (r *reach) already() int { return len(r.victims.running) }

// find looks for the victim with which an agent has the units.
func (r *reach) find(agent int) int {
	have := r.victims.soon.units[agent]
	if have >= r.units {
		return r.already()
	}
	for _, s := range slices.Backward(r.victims.onAgent[agent]) {
		if r.victims.running[s.holding].asked {
			continue
		}
		if have += s.units; have >= r.units {
			return s.holding
		}
	}
	return none
}

func (r *reach) move(agent, to int) {
	from := r.at[agent]
	if from == to {
		return
	}
	r.at[agent] = to
	if from != none {
		link := &r.first[from]
		for *link != agent {
			link = &r.next[*link]
		}
		*link = r.next[agent]
		r.count(from, -1)
	}
	if to != none {
		r.next[agent], r.first[to] = r.first[to], agent
		r.count(to, +1)
	}
}

func (r *reach) count(at, by int) {
	r.total += by
	for i := at + 1; i < len(r.tree); i += i & -i {
		r.tree[i] += by
	}
}

// rank is the number of the n-th agent from the end, or none.
func (r *reach) rank(n int) int {
	if n > r.total {
		return none
	}
	before, at := r.total-n, 0
	step := 1
	for step*2 < len(r.tree) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if at+step < len(r.tree) && r.tree[at+step] <= before {
			at += step
			before -= r.tree[at]
		}
	}
	return at
}

// nth is the number of the n-th agent from the end that is not excluded, or none.
func (r *reach) nth(n int, exclude []int) int {
	for skip := 0; ; {
		at := r.rank(n + skip)
		passed := 0
		for _, agent := range exclude {
			if at != none && r.at[agent] >= at {
				passed++
			}
		}
		if at == none || passed == skip {
			return at
		}
		skip = passed
	}
}

// from walks the agents whose numbers are at least last, with their numbers.
func (r *reach) from(last int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for n := 1; n <= r.total; {
			at := r.rank(n)
			if at < last {
				return
			}
			for agent := r.first[at]; agent != none; agent = r.next[agent] {
				if !yield(agent, at) {
					return
				}
				n++
			}
		}
	}
}
