package agentrm

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// A job may change while a pass lists the waiting allocations, between the single ones and the lines.
func TestPassVisitsAMovedAllocationOnce(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(s scene, a *allocation)
		want   int
	}{
		"nothing": {func(scene, *allocation) {}, 1},
		"it is in a line": {func(s scene, a *allocation) {
			s.leaveWaiting(a)
			a.NotBefore = time.Time{}
			s.waitingOf(a.Pool).addAllocation(a)
		}, 1},
		"it is another pool's": {func(_ scene, a *allocation) { a.Pool = "another" }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, p := newScene(t, 1, 8)
			s.addQueued(t, "one", 1, func(q *rm.Request) { q.NotBefore = time.Now().Add(-time.Hour) })
			s.cfg.Machine = func(string) (int, bool) { // called between the two
				s.mu.Lock()
				defer s.mu.Unlock()
				c.change(s, s.allocations["one"])
				return 0, false
			}
			for range 2 { // a pass does not count the looks of the one before
				snapshot, _ := s.snapshotPool(p, time.Now())
				if n := len(snapshot.Allocations); n != c.want {
					t.Errorf("got %d allocations, want %d", n, c.want)
				}
				s.cfg.Machine = func(string) (int, bool) { return 0, false }
			}
		})
	}
}
