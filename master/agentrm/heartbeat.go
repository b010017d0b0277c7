package agentrm

import (
	"context"
	"fmt"
	"time"
)

// An agent pings its master, which answers, so that both know of each other by one message
// each way. The master pings only an agent that has said nothing for Limits.Ping: an older
// one, or one that has vanished.

// noteHeard notes that the agent has just said something.
func (l *link) noteHeard() { l.heard.Store(int64(time.Since(l.began))) }

// isSilent says that the agent has said nothing for as long as a link may be silent. Agents
// ping their master more often than that, so that few are asked.
func (l *link) isSilent(now time.Time) bool {
	return now.Sub(l.began)-time.Duration(l.heard.Load()) >= l.limits.Ping
}

// pingSoon pings, for someone who thinks that the link is dead.
func (l *link) pingSoon() {
	if l.pinging.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(l.pingAgent)
}

// pingAgent finds out when the other end has vanished without a word.
func (l *link) pingAgent(ctx context.Context) error {
	defer l.pinging.Store(false)
	if l.writing.Load() {
		return nil // a ping would wait behind the message, which has its own limit
	}
	if err := l.pingOnce(ctx); err != nil {
		return fmt.Errorf("ping agent %s: %w", l.agent, err)
	}
	l.noteHeard()
	return nil
}

func (l *link) pingOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.limits.Ping)
	defer cancel()
	return l.conn.Ping(ctx)
}

func (c *connections) addConnected(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connected[l] = true
}

func (c *connections) removeConnected(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connected, l)
}

// looksEachPing is how often links are looked at within the time that one may be silent.
const looksEachPing = 10

// watchLinks pings the agents that say nothing, until ctx ends.
func (c *connections) watchLinks(ctx context.Context) {
	tick := time.NewTicker(max(c.cfg.Limits.Ping/looksEachPing, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.pingSilent(time.Now())
		}
	}
}

func (c *connections) pingSilent(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.connected {
		if l.isSilent(now) {
			l.pingSoon()
		}
	}
}
