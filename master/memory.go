package master

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// memoryPeriod is how often the master looks at what it has allocated.
	memoryPeriod = 5 * time.Second
	// busyBytes within one period mean that memory is in use: giving it back
	// would cost more than it frees.
	busyBytes = 8 << 20
	// worthBytes is what must have been allocated since memory was given back
	// last for it to be worth the milliseconds that a collection takes. A login
	// takes 19 MiB for its hash.
	worthBytes = 16 << 20
)

// freeMemory returns unused memory to the operating system when the master has become
// idle. Go itself collects after two minutes without need, and returns pages
// slowly behind that.
func freeMemory(ctx context.Context) {
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	var before, last uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocatedBytes()
		if now-before < busyBytes && now-last >= worthBytes {
			debug.FreeOSMemory()
			last = now
		}
		before = now
	}
}

// allocatedBytes is how many bytes this process has ever allocated.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
