// Package notice watches for the cloud's word that this machine will be
// interrupted, so that what runs on it can be moved before.
package notice

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Every is how often it is looked for at most: what Amazon's guide advises, where an
// interruption comes two minutes ahead. A cloud that answers when there is something new
// is asked again once it has answered.
const Every = 5 * time.Second

// Read lists the notices that are out for this machine, at once or when that has changed.
// Those that could be read are returned beside an error.
type Read func(ctx context.Context) ([]machine.Notice, error)

// Watch remembers the notices that came. It is safe for concurrent use.
type Watch struct {
	read    Read
	log     *slog.Logger
	now     func() time.Time
	failing bool // that this was already logged

	mu      sync.Mutex // guards what follows
	notices []machine.Notice
	changed chan struct{} // closed when a notice comes
}

// New returns a watch that has seen nothing yet.
func New(read Read, log *slog.Logger, now func() time.Time) *Watch {
	return &Watch{read: read, log: log, now: now, changed: make(chan struct{})}
}

// Run watches until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		w.readNotices(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Next waits for the first notice after number after. Found is false when ctx
// was done before one came.
func (w *Watch) Next(ctx context.Context, after int64) (n machine.Notice, found bool) {
	for {
		w.mu.Lock()
		changed := w.changed
		for _, n := range w.notices {
			if n.N > after {
				w.mu.Unlock()
				return n, true
			}
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return machine.Notice{}, false
		case <-changed:
		}
	}
}

// readNotices asks once. What is read twice is one notice.
func (w *Watch) readNotices(ctx context.Context) {
	notices, err := w.read(ctx)
	for _, n := range notices {
		w.addNotice(n)
	}
	if err != nil && !w.failing && ctx.Err() == nil {
		w.log.Warn("cannot see whether this machine will be interrupted, retrying", "err", err)
	}
	w.failing = err != nil
}

func (w *Watch) addNotice(n machine.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, old := range w.notices {
		if old.Kind == n.Kind && old.At.Equal(n.At) {
			return
		}
	}
	// Numbers grow across restarts, because they are read off the clock.
	n.N = w.now().UnixMicro()
	if last := len(w.notices) - 1; last >= 0 {
		n.N = max(n.N, w.notices[last].N+1)
	}
	w.notices = append(w.notices, n)
	close(w.changed)
	w.changed = make(chan struct{})
	w.log.Warn("this machine will be interrupted", "kind", n.Kind, "at", n.At, "reason", n.Reason)
}
