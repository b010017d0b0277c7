package agentrm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An agent that speaks is not asked, and one that is silent is asked once at a time.
func TestOnlySilentAgentsArePinged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		c := &connections{cfg: Config{Limits: limits}, connected: map[*link]bool{}}
		pings := map[*link]int{}
		for range 2 {
			l := newLink("", limits, func(error) {})
			l.startServing(func(linkWork) { pings[l]++ }) // which never ends
			c.addConnected(l)
		}
		var speaks *link
		for speaks = range c.connected {
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*limits.Ping)
		defer stop()
		go c.watchLinks(ctx)
		for range 12 {
			time.Sleep(limits.Ping - limits.Ping/looksEachPing) //nolint:forbidigo // it passes at once when all wait
			speaks.noteHeard()
		}
		synctest.Wait()
		for l, n := range pings {
			if l == speaks || n != 1 {
				t.Errorf("got %d pings, of the one that speaks: %v; want one, of the other", n, l == speaks)
			}
		}
		if len(pings) != 1 {
			t.Errorf("got %d agents pinged, want 1", len(pings))
		}
	})
}
