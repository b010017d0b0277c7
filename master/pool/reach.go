package pool

import (
	"iter"
	"slices"
)

// none marks the absence of a victim or an agent.
const none = -1

// reach records, for each agent, the victim at which the agent reaches a given number of units once that
// victim and all less important ones have stopped. Victims are identified by their number in serving
// order. The reach finds agents by that number, those with the least important victim first.
type reach struct {
	victims *victims
	units   int
	// at is the victim's number by agent: already() if no victim is needed, none if all of them together
	// free too few units.
	at []int
	// first is an agent by victim number, and next the following agent with the same number. Together
	// they form linked lists.
	first, next []int
	// tree counts agents by victim number. It is a Fenwick tree: a prefix sum and the n-th agent take
	// time logarithmic in its length.
	tree  []int
	total int
	// stale are agents whose number has to be recomputed.
	stale []int
}

// reachOf returns the current reach for the given number of units.
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

// already is the number assigned to agents that need no victim.
func (r *reach) already() int { return len(r.victims.running) }

// find returns the number of the victim that completes the units of an agent, already or none.
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

// rank returns the number of the n-th agent from the end, or none.
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

// nth returns the number of the n-th agent from the end that is not excluded, or none.
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

// from returns an iterator over the agents whose numbers are at least last, and their numbers.
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
