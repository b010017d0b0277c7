package master

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/det-deploy/det-deploy/process"
)

const (
	// memoryPeriod is how often the master looks at what it has allocated.
	memoryPeriod = 5 * time.Second
	// startPeriod is when it looks first: what its start has left is most of its memory.
	startPeriod = 500 * time.Millisecond
	// hashPeriod is when it looks after a login.
	hashPeriod = time.Second
	// busyBytes within one period, or an eighth of what the heap holds, mean that memory is
	// in use: giving it back would cost more than it frees.
	busyBytes = 8 << 20
	// worthBytes is what must have been allocated since memory was given back
	// last for it to be worth the milliseconds that a collection takes. In a heap that
	// holds much, which takes longer, it is half of what it holds.
	worthBytes = 16 << 20
	// smallHeap is what is collected within some 20 ms, less than a password's hash takes,
	// so that the hash's 7 MiB are given back at once. The runtime lets a heap grow to
	// twice what it holds, of which these are a small part in a larger one.
	smallHeap = 64 << 20
)

// memory returns unused memory to the operating system when the master has become
// idle. Go itself collects after two minutes without need, and returns pages
// slowly behind that.
type memory struct {
	log *slog.Logger
	// hashed has a token when a password was hashed.
	hashed chan struct{}
}

func newMemory(log *slog.Logger) *memory {
	return &memory{log: log, hashed: make(chan struct{}, 1)}
}

// noteHash gives back what a hash has used. It never waits.
func (m *memory) noteHash() {
	select {
	case m.hashed <- struct{}{}:
	default:
	}
}

// giveBack returns what the start of the program has left, more than half of what its packages
// have allocated: it would be beside what the master's own start takes, the first passwords'
// hashes among it.
func giveBack(log *slog.Logger) {
	debug.FreeOSMemory()
	unmapProgram(log)
}

// giveBackHash returns what the first passwords' hashes have used, before the first login
// needs as much again.
func (m *memory) giveBackHash() {
	select {
	case <-m.hashed:
		debug.FreeOSMemory()
	default:
	}
}

// run works until ctx ends.
func (m *memory) run(ctx context.Context) {
	tick := time.NewTicker(startPeriod)
	defer tick.Stop()
	w := watermarks{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.hashed:
			if liveBytes() < smallHeap {
				debug.FreeOSMemory()
				w.before = allocatedBytes()
				w.collected = w.before
				tick.Reset(hashPeriod) // what the rest of a login needs of the program
			}
			continue
		case <-tick.C:
			tick.Reset(memoryPeriod)
		}
		collect, unmap := w.judge(allocatedBytes(), liveBytes())
		if collect {
			debug.FreeOSMemory()
		}
		if unmap {
			unmapProgram(m.log)
		}
	}
}

// watermarks are how much the process had ever allocated at certain times, in bytes.
type watermarks struct {
	// before is when it was looked at last, and collected when memory was given back last.
	before, collected uint64
	started           bool
}

// judge says what is worth doing when now has been allocated, of which the heap held held when
// it was collected last: a collection, and unmapping what was needed of the program.
func (w *watermarks) judge(now, held uint64) (collect, unmap bool) {
	quiet := !w.started || now-w.before < max(busyBytes, held/8)
	collect = !w.started || quiet && now-w.collected >= max(worthBytes, held/2)
	w.before, w.started = now, true
	if collect {
		w.collected = now
	}
	return collect, quiet
}

// unmapProgram gives back the pages of the program that were used, most of them by its start: a
// master at rest uses a tenth of them, and has that back after some hundred page faults of a
// microsecond.
func unmapProgram(log *slog.Logger) {
	if err := process.UnmapProgram(); err != nil {
		log.Debug("cannot unmap pages of the program", "err", err)
	}
}

func allocatedBytes() uint64 { return read("/gc/heap/allocs:bytes") }

// liveBytes is what the heap held when it was collected last.
func liveBytes() uint64 { return read("/gc/heap/live:bytes") }

// read is one figure of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
