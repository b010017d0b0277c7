package main

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// sustainedRuns is the number of runs of short tasks without a pause between them, because the
// remains of a task slow down those after it.
const sustainedRuns = 5

// measureSustained prints the figures of each run.
func (c *cluster) measureSustained(ctx context.Context, what string, tasks, promise int, say sayer) error {
	var grown measure.Growth
	for run := range sustainedRuns {
		master, _ := processorOf(c.master)
		agent, programs := processorOf(c.agent)
		accepted, took, err := c.shortTasks(ctx, tasks)
		if err != nil {
			return err
		}
		masterThen, _ := processorOf(c.master)
		agentThen, programsThen := processorOf(c.agent)
		each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(tasks) }
		say(fmt.Sprintf("run %d of %d %s, submitted to ended", run+1, tasks, what),
			"%.0f/s (promise %d), accepted %.0f/s; a task: agent %.2f ms, its children %.2f ms, master %.2f ms",
			float64(tasks)/took.Seconds(), promise, float64(tasks)/accepted.Seconds(),
			each(agentThen-agent), each(programsThen-programs), each(masterThen-master))
		if run == 0 || run == sustainedRuns-1 {
			grown.See("the agent's processor time of "+what, 1, each(agentThen-agent), 0)
			grown.See("the master's processor time of "+what, 1, each(masterThen-master), 0)
		}
	}
	return grown.Err()
}
