package pool

import (
	"slices"
	"sort"
)

// findVictims chooses running allocations that make room for a, and counts their slots as being
// released. It returns none if all possible victims together do not free enough.
func (p *pass) findVictims(a *Allocation, r request) []AllocationID {
	key := shape{units: r.units, single: r.single}
	if !p.scheduler.Preemption || p.noVictims[key] {
		return nil
	}
	chosen := p.victims.choose(a, r)
	if chosen == nil && len(r.exclude) == 0 {
		p.noVictims[key] = true
	}
	ids := make([]AllocationID, 0, len(chosen))
	for _, h := range chosen {
		h.asked = true
		ids = append(ids, h.ID)
		for _, g := range h.gains {
			p.changeSoon(g.agent, g.units)
		}
	}
	if len(chosen) > 0 {
		clear(p.noSoon)
	}
	return ids
}

// mayPreempt reports whether a may preempt h. Within a priority the queue position decides. All
// allocations of a job share one position, so that they never preempt each other.
func mayPreempt(a *Allocation, h *holding) bool {
	if h.Priority == a.Priority {
		return h.Position > a.Position
	}
	return h.Priority > a.Priority
}

// victims are the allocations that may be preempted, in serving order: the last one is the least
// important and is tried first. A request is served once all victims from the last up to some other have
// stopped. That other one is recorded for each agent (see reach), so that a request need not try victims
// one by one.
type victims struct {
	running []*holding
	soon    *board
	// onAgent lists the units that each agent regains from its holdings, in serving order.
	onAgent [][]stake
	// reached holds the reaches computed so far, by units.
	reached map[int]*reach
}

// stake is the units that one agent regains from a holding, which is identified by its number in serving
// order.
type stake struct{ holding, units int }

func newVictims(running []*holding, soon *board) *victims {
	v := &victims{running: running, soon: soon, onAgent: make([][]stake, len(soon.units)), reached: make(map[int]*reach)}
	for i, h := range running {
		for _, g := range h.gains {
			v.onAgent[g.agent] = append(v.onAgent[g.agent], stake{i, g.units})
		}
	}
	return v
}

// changed marks an agent whose units have changed, or one of whose holdings was asked to stop.
func (v *victims) changed(agent int) {
	for _, r := range v.reached {
		r.stale = append(r.stale, agent)
	}
}

// option is one way to serve a request: on a number of agents, with the same units on each.
type option struct {
	agents, units int
	// whole is the number of agents that have the units without any victim; with lists the agents that
	// have them once victims stop.
	whole int
	with  []int
}

// choose tries victims from the least important until r fits, then spares the unneeded ones, the most
// important first. It returns nil if r does not fit with all of them.
func (v *victims) choose(a *Allocation, r request) []*holding {
	first := sort.Search(len(v.running), func(i int) bool { return mayPreempt(a, v.running[i]) })
	last, options := none, []option(nil)
	for m := 1; m <= min(r.units, len(v.soon.units)) && (m == 1 || !r.single); m++ {
		if r.units%m != 0 {
			continue
		}
		switch at := v.reachOf(r.units/m).nth(m, r.exclude); {
		case at < first || at < last:
		case at > last:
			last, options = at, options[:0]
			fallthrough
		default:
			options = append(options, option{agents: m, units: r.units / m})
		}
	}
	if len(options) == 0 {
		return nil
	}
	for i := range options {
		v.listAgents(&options[i], last, r.exclude)
	}
	return v.spare(options, last)
}

// listAgents fills in the agents that an option has once all victims down to last have stopped.
func (v *victims) listAgents(o *option, last int, exclude []int) {
	for agent, at := range v.reachOf(o.units).from(last) {
		switch {
		case slices.Contains(exclude, agent):
		case at == v.reachOf(o.units).already():
			o.whole++
		default:
			o.with = append(o.with, agent)
		}
	}
}

// spare returns the victims down to last that one of the options needs.
func (v *victims) spare(options []option, last int) []*holding {
	units, tried := make(map[int]int), []int(nil)
	for _, o := range options {
		for _, agent := range o.with {
			if _, seen := units[agent]; seen {
				continue
			}
			units[agent] = v.soon.units[agent]
			for _, s := range v.open(agent, last) {
				units[agent] += s.units
				tried = append(tried, s.holding)
			}
		}
	}
	slices.Sort(tried)
	var chosen []*holding
	for _, i := range slices.Compact(tried) {
		addGains(units, v.running[i], -1)
		if !slices.ContainsFunc(options, func(o option) bool { return o.fits(units) }) {
			addGains(units, v.running[i], +1)
			chosen = append(chosen, v.running[i])
		}
	}
	slices.Reverse(chosen)
	return chosen
}

// open returns the units that an agent would regain from the holdings down to last that were not asked
// to stop yet.
func (v *victims) open(agent, last int) []stake {
	from := sort.Search(len(v.onAgent[agent]), func(i int) bool { return v.onAgent[agent][i].holding >= last })
	out := slices.Clone(v.onAgent[agent][from:])
	return slices.DeleteFunc(out, func(s stake) bool { return v.running[s.holding].asked })
}

// addGains adds the units of a holding to the agents in units; other agents are ignored.
func addGains(units map[int]int, h *holding, sign int) {
	for _, g := range h.gains {
		if _, known := units[g.agent]; known {
			units[g.agent] += sign * g.units
		}
	}
}

func (o option) fits(units map[int]int) bool {
	n := o.whole
	for _, agent := range o.with {
		if units[agent] >= o.units {
			n++
		}
	}
	return n >= o.agents
}
