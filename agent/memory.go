package agent

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/det-deploy/det-deploy/process"
)

const (
	// settlePeriod is from the start until what only the start needed is given back: the
	// agent has joined by then, and taken its tasks up again.
	settlePeriod = 2 * time.Second
	// restPeriod is how often the agent looks whether it rests.
	restPeriod = 10 * time.Second
	// busyBytes within one period mean that tasks come and go: giving memory back would
	// cost more than it frees.
	busyBytes = 1 << 20
	// worthBytes is what must have been allocated since the last collection for another to
	// be worth its milliseconds.
	worthBytes = 2 << 20
)

// memory decides when memory is given back. What a machine has is for its tasks.
type memory struct {
	// seen and collected are what had been allocated, in bytes, when it looked last and
	// at the last collection.
	seen, collected uint64
}

// decideRest says of an agent that has allocated so many bytes in its life whether it
// rests, and whether there is garbage to collect.
func (m *memory) decideRest(allocated uint64) (rests, collects bool) {
	first := m.collected == 0
	rests = first || allocated-m.seen < busyBytes
	collects = first || rests && allocated-m.collected >= worthBytes
	m.seen = allocated
	if collects {
		m.collected = allocated
	}
	return rests, collects
}

// giveMemoryBack gives back what is not needed once the agent has started, and whenever it
// rests, until ctx ends.
func (a *Agent) giveMemoryBack(ctx context.Context) {
	var m memory
	tick := time.NewTicker(settlePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tick.Reset(restPeriod)
		}
		rests, collects := m.decideRest(allocatedBytes())
		if collects {
			debug.FreeOSMemory()
		}
		if !rests {
			continue
		}
		if err := process.UnmapProgram(); err != nil {
			a.cfg.Log.Debug("cannot give back pages of the program", "err", err)
		}
	}
}

// allocatedBytes is how many bytes this process has ever allocated.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
