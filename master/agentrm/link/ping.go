package link

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// An agent pings its master, which answers, so that one message each way informs both sides. The master
// pings only an agent that has been silent for Limits.Ping: one of an older version, or one that has
// vanished.

// noteHeard records that the agent has just sent something.
func (l *Link) noteHeard() { l.heard.Store(int64(time.Since(l.began))) }

// isSilent reports whether the agent has been silent for Limits.Ping. Agents ping their master more
// often than that, so that few have to be pinged.
func (l *Link) isSilent(now time.Time) bool {
	return now.Sub(l.began)-time.Duration(l.heard.Load()) >= l.limits.Ping
}

// PingSoon pings the agent, for callers that suspect the link to be dead.
func (l *Link) PingSoon() {
	if l.pinging.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(l.pingAgent)
}

// pingAgent returns an error if the agent does not answer a ping in time.
func (l *Link) pingAgent(ctx context.Context) error {
	defer l.pinging.Store(false)
	if l.writing.Load() {
		return nil // a ping would wait behind the message, which has a time limit
	}
	if err := l.pingOnce(ctx); err != nil {
		return fmt.Errorf("ping agent %s: %w", l.Agent, err)
	}
	l.noteHeard()
	return nil
}

func (l *Link) pingOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.limits.Ping)
	defer cancel()
	return l.conn.Ping(ctx)
}

// Watch pings the links of silent agents.
type Watch struct {
	limits Limits
	mu     sync.Mutex // guards links
	links  map[*Link]bool
}

// NewWatch returns a watch without links.
func NewWatch(limits Limits) *Watch { return &Watch{limits: limits, links: make(map[*Link]bool)} }

// Add adds a link.
func (w *Watch) Add(l *Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[l] = true
}

// Remove removes a link.
func (w *Watch) Remove(l *Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

// looksEachPing is the number of checks of each link within Limits.Ping.
const looksEachPing = 10

// Run pings silent agents until ctx is done.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(max(w.limits.Ping/looksEachPing, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.pingSilent(time.Now())
		}
	}
}

func (w *Watch) pingSilent(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.links {
		if l.isSilent(now) {
			l.PingSoon()
		}
	}
}
