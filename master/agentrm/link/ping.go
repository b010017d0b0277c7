package link

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// An agent pings its master, which answers, so that both know of each other by one Message
// each way. The master pings only an agent that has said nothing for Limits.Ping: an older
// one, or one that has vanished.

// noteHeard notes that the agent has just said something.
func (l *Link) noteHeard() { l.heard.Store(int64(time.Since(l.began))) }

// isSilent says that the agent has said nothing for as long as a link may be silent. Agents
// ping their master more often than that, so that few are asked.
func (l *Link) isSilent(now time.Time) bool {
	return now.Sub(l.began)-time.Duration(l.heard.Load()) >= l.limits.Ping
}

// PingSoon pings, for someone who thinks that the link is dead.
func (l *Link) PingSoon() {
	if l.pinging.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(l.pingAgent)
}

// pingAgent finds out when the other end has vanished without a word.
func (l *Link) pingAgent(ctx context.Context) error {
	defer l.pinging.Store(false)
	if l.writing.Load() {
		return nil // a ping would wait behind the Message, which has its own limit
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

// Watch pings the links of agents that say nothing.
type Watch struct {
	limits Limits
	mu     sync.Mutex // guards links
	links  map[*Link]bool
}

// NewWatch returns a watch of no links.
func NewWatch(limits Limits) *Watch { return &Watch{limits: limits, links: make(map[*Link]bool)} }

// Add has a link watched.
func (w *Watch) Add(l *Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[l] = true
}

// Remove has a link watched no more.
func (w *Watch) Remove(l *Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

// looksEachPing is how often links are looked at within the time that one may be silent.
const looksEachPing = 10

// Run pings the agents that say nothing, until ctx ends.
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
