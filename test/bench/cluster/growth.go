package main

import (
	"os/exec"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

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
