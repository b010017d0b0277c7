package link

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An agent that sends messages is not pinged, and a silent one is pinged once at a time.
func TestOnlySilentAgentsArePinged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		w := NewWatch(limits)
		pings := map[*Link]int{}
		for range 2 {
			l := New("", limits, func(error) {})
			l.Serve(func(Work) { pings[l]++ }) // the ping never ends
			w.Add(l)
		}
		var speaks *Link
		for speaks = range w.links {
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*limits.Ping)
		defer stop()
		go w.Run(ctx)
		for range 12 {
			time.Sleep(limits.Ping - limits.Ping/looksEachPing) //nolint:forbidigo // time passes immediately in synctest
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
