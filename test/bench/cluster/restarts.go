package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// restarts is the number of restarts for the median.
const restarts = 7

// upstreamWarm is the time until a Determined master with some history in its store is ready,
// measured beside a master of det-deploy on the same machine; the promise is 1.6 times faster.
const upstreamWarm = 148 * time.Millisecond

// measureRestarts measures the time until a master with a used store is ready.
func (c *cluster) measureRestarts(ctx context.Context, tasks int, grown *measure.Growth, say sayer) error {
	var took []time.Duration
	for range restarts {
		if err := c.endMaster(); err != nil {
			return err
		}
		ready, err := c.startMaster(ctx)
		if err != nil {
			return err
		}
		took = append(took, ready)
	}
	slices.Sort(took)
	p50 := percentile(took, 50)
	say(fmt.Sprintf("master ready on a store with %d ended tasks", tasks), "p50 %d ms, most %d ms (promise %.0f)",
		p50.Milliseconds(), took[len(took)-1].Milliseconds(), upstreamWarm.Seconds()*1000/1.6)
	grown.See("ready on a warm store", 1, p50.Seconds(), 0.05)
	return nil
}

func (c *cluster) endMaster() error {
	if err := c.master.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := c.master.Wait(); err != nil {
		return fmt.Errorf("the master ended: %w; see %s/master.log", err, c.dir)
	}
	return nil
}
