package main

import (
	"os/exec"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// percentile returns the p-th percentile of sorted figures.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// processor returns the processor time of the master, the agent and their reaped children.
func (c *cluster) processor() (sum time.Duration) {
	for _, cmd := range []*exec.Cmd{c.master, c.agent} {
		own, children := processorOf(cmd)
		sum += own + children
	}
	return sum
}

// processorOf returns the processor time of a process and of its reaped children.
func processorOf(cmd *exec.Cmd) (own, children time.Duration) {
	return measure.ProcessorOf(cmd.Process.Pid)
}
