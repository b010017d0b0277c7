package main

import "github.com/det-deploy/det-deploy/test/bench/measure"

// compareGrowth compares the cost of each of n agents with its cost among fewer agents.
func (f figures) compareGrowth(grown *measure.Growth, n int) {
	grown.See("processor time of joining", n, f.join.master.Seconds(), 0.5)
	grown.See("processor time of coming back", n, f.back.master.Seconds(), 0.5)
	grown.See("processor time of agents without tasks", n, f.quiet, 0.01)
	grown.See("memory", n, float64(f.memory), 20<<20)
	grown.See("processor time of the list", n, f.list.Seconds(), 0.01)
}
