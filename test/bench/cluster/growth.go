package main

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// growth compares figures of more and more work. Each is for one piece of work, so that it should
// stay.
type growth struct {
	of   string
	last time.Duration
	err  error
}

// most is how much a figure may grow by: twice, because others use the machine.
const most = 2

// compare fails the bench when a figure is more than twice the one before it. What is below noise is
// not compared.
func (g *growth) compare(of string, figure, noise time.Duration) {
	if g.of == of && figure > most*g.last && figure > noise && g.err == nil {
		g.err = fmt.Errorf("%s grows faster than its work: %v, then %v", of, g.last, figure)
	}
	g.of, g.last = of, figure
}

// percentile is of sorted figures.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// processor is the processor time of the master and the agent, and of what they have waited for.
func (c *cluster) processor() (sum time.Duration) {
	for _, cmd := range []*exec.Cmd{c.master, c.agent} {
		own, children := processorOf(cmd)
		sum += own + children
	}
	return sum
}

// processorOf is the processor time of a process, and of what it has waited for.
func processorOf(cmd *exec.Cmd) (own, children time.Duration) {
	return measure.ProcessorOf(cmd.Process.Pid)
}
