package share

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

func TestShareShrinksAsPlacesFill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limits Limits
		taken  int
		want   int
	}{
		{Limits{}, 0, math.MaxInt},
		{Limits{}, 1 << 40, math.MaxInt},
		{Limits{Each: 3}, 1 << 40, 3},
		{Limits{Most: 2048}, 0, 2048},
		{Limits{Most: 2048, Each: 1024}, 0, 1024},
		{Limits{Most: 2048, Each: 1024}, 1024, 1024},
		{Limits{Most: 2048, Each: 1024}, 1536, 512},
		{Limits{Most: 2048, Each: 1024}, 2047, 1},
		{Limits{Most: 2048, Each: 1024}, 2048, 0},
		{Limits{Most: 2, Each: 1024}, 3, 0},
	} {
		if got := tt.limits.Share(tt.taken); got != tt.want {
			t.Errorf("%+v with %d taken: got %d, want %d", tt.limits, tt.taken, got, tt.want)
		}
	}
}

func TestGroupOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":               "192.0.2.1",
		"::ffff:192.0.2.1":        "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":    "2001:db8:1:2::/64",
		"2001:db8:1:2::1":         "2001:db8:1:2::/64",
		"2001:db8:1:3::1":         "2001:db8:1:3::/64",
		"fe80::1%eth0":            "fe80::/64",
		"@":                       "@",
		"":                        "",
		"::1":                     "::/64",
		"2001:db8:1:2:3:4:5:6%e0": "2001:db8:1:2::/64",
	} {
		if got := GroupOf(address); got.Name != want || got.Spared {
			t.Errorf("%q: got %+v, want %q", address, got, want)
		}
	}
}

// crowd takes places and records the lost ones.
type crowd struct {
	*Places
	t    *testing.T
	lost []string
}

func newCrowd(t *testing.T, l Limits) *crowd { return &crowd{Places: NewPlaces(l), t: t} }

func (c *crowd) enter(name, group string, want bool) *Place {
	c.t.Helper()
	place, ok := c.Take(Group{Name: group, Spared: group == "proxy"}, func() { c.lost = append(c.lost, name) })
	if ok != want {
		c.t.Errorf("%s of %s: got %v, want %v", name, group, ok, want)
	}
	return place
}

func (c *crowd) expectLost(want ...string) {
	c.t.Helper()
	if !slices.Equal(c.lost, want) {
		c.t.Errorf("got %v lost, want %v", c.lost, want)
	}
}

func TestLargestGroupLosesItsOldestPlace(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, Limits{Most: 6, Each: 4})
	c.enter("a1", "a", true)
	c.enter("a2", "a", true).SetBusy()
	c.enter("a3", "a", true)
	if _, ok := c.TakeFree(Group{Name: "a"}, nil); ok {
		t.Error("a place is free for a group that has its share")
	}
	c.enter("a4", "a", false) // half of the places are left for others
	c.enter("b1", "b", true)
	c.enter("c1", "c", true)
	c.enter("d1", "d", true)
	c.expectLost()
	if _, ok := c.TakeFree(Group{Name: "e"}, nil); ok {
		t.Error("a place is free where all are taken")
	}
	c.enter("e1", "e", true)
	c.expectLost("a1")
	c.enter("f1", "f", true)
	c.expectLost("a1", "a3")
	c.enter("g1", "g", true) // now all groups have one each: the oldest is lost although it is busy
	c.expectLost("a1", "a3", "a2")
	c.enter("g2", "g", false)
	if got := c.Taken(); got != 6 {
		t.Errorf("got %d taken, want 6", got)
	}
}

func TestSetWaitingMakesThePlaceTheYoungest(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, Limits{Most: 4})
	first, _ := c.enter("a1", "a", true), c.enter("a2", "a", true)
	c.enter("b1", "b", true)
	c.enter("c1", "c", true)
	first.SetBusy()
	first.SetWaiting()
	c.enter("d1", "d", true)
	c.expectLost("a2")
	first.Leave()
	first.Leave() // may be repeated
	first.SetBusy()
	first.SetWaiting() // it was released
	c.enter("e1", "e", true)
	c.expectLost("a2")
	if got := c.Taken(); got != 4 {
		t.Errorf("got %d taken, want 4", got)
	}
}

func TestGroupKeepsItsPlacesForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Each: 2, Safe: time.Second})
		c.enter("a1", "a", true)
		served := c.enter("a2", "a", true)
		c.enter("a3", "a", false)
		_ = wait.For(t.Context(), time.Second)
		c.enter("a4", "a", true)
		c.expectLost("a1")
		served.SetBusy()
		c.enter("a5", "a", false)
		_ = wait.For(t.Context(), time.Second)
		c.enter("a6", "a", true)
		c.expectLost("a1", "a4")
		_ = wait.For(t.Context(), time.Second)
		c.enter("a7", "a", true)
		c.expectLost("a1", "a4", "a6") // a busy one is not lost to its own group
	})
}

func TestSparedGroupKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, Limits{Most: 4, Each: 2})
	for i := range 3 {
		c.enter(fmt.Sprint("p", i), "proxy", true)
	}
	c.enter("a1", "a", true)
	c.enter("b1", "b", true)
	c.expectLost("a1")
	c.enter("p3", "proxy", true)
	c.expectLost("a1", "b1")
	c.enter("p4", "proxy", false)
	c.enter("a2", "a", false)
}

func TestGroupsShareEqually(t *testing.T) {
	t.Parallel()
	for groups := 1; groups <= 64; groups++ {
		c := newCrowd(t, Limits{Most: 256, Each: 128})
		for i := range 128 * groups {
			c.Take(Group{Name: fmt.Sprint(i % groups)}, func() {})
		}
		c.enter("user", "user", true)
		fewest := 256
		for _, g := range c.groups {
			if g.Name != "user" {
				fewest = min(fewest, g.size())
			}
		}
		if want := 256 / (groups + 1) / 2; fewest < want || c.Taken() > 256 {
			t.Errorf("%d groups: got %d taken, and %d by one of them, want at least %d", groups, c.Taken(), fewest, want)
		}
	}
}
