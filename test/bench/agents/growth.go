package main

import (
	"errors"
	"fmt"
)

// growth compares what one agent costs among more and more agents.
type growth struct {
	agents int
	last   figures
	err    error
}

// most is how much one agent's part may grow by: twice, because others use the machine.
const most = 2

// compare fails the bench when what one agent costs is more than twice that of the size
// before.
func (g *growth) compare(n int, f figures) {
	type pair struct {
		what string
		// before and now are for all agents, and what is below noise is not compared.
		before, now, noise float64
	}
	for _, p := range []pair{
		{"processor time of joining", g.last.join.master.Seconds(), f.join.master.Seconds(), 0.5},
		{"processor time of coming back", g.last.back.master.Seconds(), f.back.master.Seconds(), 0.5},
		{"processor time of agents without tasks", g.last.quiet, f.quiet, 0.01},
		{"memory", float64(g.last.memory), float64(f.memory), 20 << 20},
		{"processor time of the list", g.last.list.Seconds(), f.list.Seconds(), 0.01},
	} {
		if g.agents > 0 && p.before > 0 && p.now > p.noise && p.now/float64(n) > most*p.before/float64(g.agents) {
			g.err = errors.Join(g.err, fmt.Errorf("%s grows faster than the agents: %.3g for %d, then %.3g for %d", p.what, p.before, g.agents, p.now, n))
		}
	}
	g.agents, g.last = n, f
}
