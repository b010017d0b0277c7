// Package notice watches for interruption notices of the cloud, so that tasks can be moved before
// the machine is interrupted.
package notice

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Every is the minimum interval between polls. Amazon recommends 5 seconds; its interruption notice
// comes two minutes ahead. A long-polling cloud is queried again as soon as it has responded.
const Every = 5 * time.Second

// Read returns the pending notices for this machine, at once or after a change. On an error it also
// returns the notices that could be read.
type Read func(ctx context.Context) ([]machine.Notice, error)

// Watch records notices. It is safe for concurrent use.
type Watch struct {
	read    Read
	log     *slog.Logger
	now     func() time.Time
	failing bool // whether the current failure is already logged

	mu      sync.Mutex // guards the fields below
	notices []machine.Notice
	changed chan struct{} // closed when a notice arrives
}

// New returns a watch without notices.
func New(read Read, log *slog.Logger, now func() time.Time) *Watch {
	return &Watch{read: read, log: log, now: now, changed: make(chan struct{})}
}

// Run polls for notices until ctx is done.
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

// Next waits for the first notice with a number greater than after. Found is false if ctx is done
// first.
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

// readNotices polls once. A notice that was already recorded is ignored.
func (w *Watch) readNotices(ctx context.Context) {
	notices, err := w.read(ctx)
	for _, n := range notices {
		w.addNotice(n)
	}
	if err != nil && !w.failing && ctx.Err() == nil {
		w.log.Warn("cannot read interruption notices; retrying", "err", err)
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
	// Numbers are taken from the clock, so that they increase across restarts.
	n.N = w.now().UnixMicro()
	if last := len(w.notices) - 1; last >= 0 {
		n.N = max(n.N, w.notices[last].N+1)
	}
	w.notices = append(w.notices, n)
	close(w.changed)
	w.changed = make(chan struct{})
	w.log.Warn("received an interruption notice", "kind", n.Kind, "at", n.At, "reason", n.Reason)
}
