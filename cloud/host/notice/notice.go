// Package notice watches for Amazon's word that it will take this machine back,
// so that what runs on it can be moved before.
package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Every is how often it is looked for: what Amazon's guide advises. An
// interruption comes two minutes ahead.
const Every = 5 * time.Second

// Metadata is what the machine is told about itself.
type Metadata interface {
	// Get returns what stands at a path, and whether anything does.
	Get(ctx context.Context, path string) (text string, found bool, err error)
}

// Watch remembers the notices that came. It is safe for concurrent use.
type Watch struct {
	metadata Metadata
	log      *slog.Logger
	now      func() time.Time
	failing  bool // that this was already said

	mu      sync.Mutex // guards what follows
	notices []machine.Notice
	changed chan struct{} // closed when a notice comes
}

// New returns a watch that has seen nothing yet.
func New(m Metadata, log *slog.Logger, now func() time.Time) *Watch {
	return &Watch{metadata: m, log: log, now: now, changed: make(chan struct{})}
}

// Run watches until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		w.look(ctx)
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

// look asks for both kinds. What is read twice is one notice.
func (w *Watch) look(ctx context.Context) {
	var failed error
	for _, read := range []func(context.Context) (machine.Notice, bool, error){w.interruption, w.rebalance} {
		n, found, err := read(ctx)
		if err != nil {
			failed = err
		}
		if found {
			w.add(n)
		}
	}
	if failed != nil && !w.failing && ctx.Err() == nil {
		w.log.Warn("cannot see whether this machine will be taken back, trying on", "err", failed)
	}
	w.failing = failed != nil
}

func (w *Watch) add(n machine.Notice) {
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
	w.log.Warn("this machine will be taken back", "kind", n.Kind, "at", n.At, "reason", n.Reason)
}

// interruption is a spot machine that will be stopped or terminated.
func (w *Watch) interruption(ctx context.Context) (machine.Notice, bool, error) {
	var doc struct {
		Action string
		Time   time.Time
	}
	found, err := w.read(ctx, "spot/instance-action", &doc)
	return machine.Notice{Kind: machine.Interruption, At: doc.Time, Reason: "spot interruption: " + doc.Action}, found, err
}

// rebalance is a spot machine that may be interrupted soon.
func (w *Watch) rebalance(ctx context.Context) (machine.Notice, bool, error) {
	var doc struct{ NoticeTime time.Time }
	found, err := w.read(ctx, "events/recommendations/rebalance", &doc)
	return machine.Notice{Kind: machine.Rebalance, At: doc.NoticeTime, Reason: "spot rebalance recommendation"}, found, err
}

func (w *Watch) read(ctx context.Context, path string, into any) (found bool, err error) {
	text, found, err := w.metadata.Get(ctx, path)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}
