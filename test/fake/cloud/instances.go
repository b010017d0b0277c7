package cloudtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
)

// InstancesSuite tests the contract of cloud.Instances with one platform. It skips rules that the
// platform cannot reproduce, with a reason.
type InstancesSuite struct {
	// New returns an empty pool and registers its cleanup with t.
	New func(t *testing.T) cloud.Instances
	// Offer is an offer that the platform fulfills, with the zone as listed.
	Offer cloud.Offer
	// Reopen returns the same pool as seen by a restarted master.
	Reopen func(t *testing.T, p cloud.Instances) cloud.Instances
	// Other returns another pool of the same platform.
	Other func(t *testing.T, p cloud.Instances) cloud.Instances
	// NoCapacity makes all later launches fail for lack of capacity.
	NoCapacity func(t *testing.T, p cloud.Instances)
	// LoseReply drops the response to the next launch.
	LoseReply func(t *testing.T, p cloud.Instances)
	// Unknown is a valid ID of the platform that belongs to no machine.
	Unknown cloud.InstanceID
	// TokensEnd reports that a token may launch again after its machines were deleted and are no
	// longer listed.
	TokensEnd bool
	// Patience is the timeout of every wait, because lists may lag. Zero means ten seconds.
	Patience time.Duration
	// Wait advances the time of the platform. Nil waits in real time.
	Wait func(d time.Duration)
}

// Run runs the suite.
func (s InstancesSuite) Run(t *testing.T) {
	if s.Patience == 0 {
		s.Patience = 10 * time.Second
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, InstancesSuite)
	}{
		{"a new pool lists nothing", startsEmpty},
		{"launched machines are listed and run", launches},
		{"one call launches several machines", launchesSeveral},
		{"a token launches once", launchesOnce},
		{"a token launches once even when sent twice at the same time", launchesOnceAtOnce},
		{"a token launches once over a restart of the master", launchesOnceOverRestart},
		{"a token of another launch is rejected", refusesForeignToken},
		{"invalid launches are rejected", refusesNonsense},
		{"a lost response is ambiguous and retried", survivesLostReply},
		{"terminate removes only the given machines", terminates},
		{"terminating twice is not an error", terminatesTwice},
		{"a token does not relaunch terminated machines", doesNotResurrect},
		{"pools do not see each other's machines", keepsPoolsApart},
		{"missing capacity has its error kind", tellsNoCapacity},
		{"an ended context is an error", obeysContext},
		{"the console has output or names the missing permission", showsConsole},
		{"sweeping twice is not an error", sweeps},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, s)
		})
	}
}

func startsEmpty(t *testing.T, s InstancesSuite) {
	if got := s.list(t, s.New(t)); len(got) != 0 {
		t.Errorf("list: got %v, want nothing", got)
	}
}

func launches(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	got := s.launch(t, p, "one", 1)
	if len(got) != 1 || got[0].ID == "" {
		t.Fatalf("launch: got %v, want one machine with an ID", got)
	}
	i := s.awaitRunning(t, p, got[0].ID)
	if i.Offer != s.Offer {
		t.Errorf("offer: got %+v, want %+v", i.Offer, s.Offer)
	}
	if i.Token != "" && i.Token != "one" {
		t.Errorf("token: got %q, want %q", i.Token, "one")
	}
	if i.Launched.IsZero() {
		t.Errorf("launched: got no time, want when it was granted")
	}
}

func launchesSeveral(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	got := s.launch(t, p, "three", 3)
	if len(got) < 1 || len(got) > 3 {
		t.Fatalf("launch: got %d machines, want 1 to 3", len(got))
	}
	for _, i := range got {
		s.awaitRunning(t, p, i.ID)
	}
	listed := ids(s.list(t, p))
	if !slices.IsSorted(listed) || len(listed) != len(got) {
		t.Errorf("list: got %v, want the %d machines sorted", listed, len(got))
	}
}

func launchesOnce(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	s.same(t, p, s.launch(t, p, "twice", 2), s.launch(t, p, "twice", 2))
	if other := s.launch(t, p, "another", 1); s.launch(t, p, "twice", 2)[0].ID == other[0].ID {
		t.Errorf("another token: got the same machine %s", other[0].ID)
	}
}

func launchesOnceAtOnce(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	var got [2][]cloud.Instance
	var errs [2]error
	var wg sync.WaitGroup
	for n := range got {
		wg.Go(func() {
			got[n], errs[n] = p.Launch(t.Context(), cloud.Launch{Token: "at-once", Offer: s.Offer, Count: 1})
		})
	}
	wg.Wait()
	for n, err := range errs {
		// EC2 rejects the second call while the first is in progress.
		if k := cloud.KindOf(err); err != nil && k != cloud.RateLimited && k != cloud.Ambiguous && k != cloud.Conflict {
			t.Fatalf("launch: got %v, want none or one that asks to try again", err)
		}
		if err != nil {
			got[n] = s.launch(t, p, "at-once", 1)
		}
	}
	s.same(t, p, got[0], got[1])
}

func launchesOnceOverRestart(t *testing.T, s InstancesSuite) {
	if s.Reopen == nil {
		t.Skip("this platform has no second view of a pool")
	}
	p := s.New(t)
	first := s.launch(t, p, "before", 1)
	again := s.Reopen(t, p)
	s.awaitRunning(t, again, first[0].ID)
	s.same(t, again, first, s.launch(t, again, "before", 1))
}

func refusesForeignToken(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	s.launch(t, p, "mine", 1)
	_, err := p.Launch(t.Context(), cloud.Launch{Token: "mine", Offer: s.Offer, Count: 2})
	if k := cloud.KindOf(err); k != cloud.Invalid && k != cloud.Conflict {
		t.Errorf("same token, other count: got %v (%s), want it refused as invalid or a conflict", err, k)
	}
}

func refusesNonsense(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	for name, l := range map[string]cloud.Launch{
		"no machines": {Token: "none", Offer: s.Offer},
		"no token":    {Offer: s.Offer, Count: 1},
		"no type":     {Token: "typeless", Count: 1, Offer: cloud.Offer{Price: cloud.OnDemand}},
	} {
		if _, err := p.Launch(t.Context(), l); cloud.KindOf(err) != cloud.Invalid {
			t.Errorf("%s: got %v, want it refused as invalid", name, err)
		}
	}
	if got := s.list(t, p); len(got) != 0 {
		t.Errorf("list: got %v, want nothing", got)
	}
}

func survivesLostReply(t *testing.T, s InstancesSuite) {
	if s.LoseReply == nil {
		t.Skip("this platform's answers cannot be lost on purpose")
	}
	p := s.New(t)
	s.LoseReply(t, p)
	if _, err := p.Launch(t.Context(), cloud.Launch{Token: "lost", Offer: s.Offer, Count: 2}); cloud.KindOf(err) != cloud.Ambiguous {
		t.Fatalf("lost answer: got %v, want it ambiguous", err)
	}
	s.same(t, p, s.launch(t, p, "lost", 2), s.launch(t, p, "lost", 2))
}

func terminates(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	gone, stays := s.launch(t, p, "gone", 1), s.launch(t, p, "stays", 1)
	s.terminate(t, p, ids(gone)...)
	s.awaitGone(t, p, gone[0].ID)
	s.awaitRunning(t, p, stays[0].ID)
}

func terminatesTwice(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	one := ids(s.launch(t, p, "one", 1))
	s.terminate(t, p, one...)
	s.terminate(t, p, one...)
	s.awaitGone(t, p, one[0])
	s.terminate(t, p, one...)
	s.terminate(t, p)
	if s.Unknown != "" {
		s.terminate(t, p, s.Unknown)
		two := ids(s.launch(t, p, "two", 1))
		s.terminate(t, p, s.Unknown, two[0])
		s.awaitGone(t, p, two[0])
	}
}

func doesNotResurrect(t *testing.T, s InstancesSuite) {
	if s.TokensEnd {
		t.Skip("this platform forgets tokens together with their machines")
	}
	p := s.New(t)
	first := ids(s.launch(t, p, "over", 1))
	s.terminate(t, p, first...)
	s.awaitGone(t, p, first[0])
	got, err := p.Launch(t.Context(), cloud.Launch{Token: "over", Offer: s.Offer, Count: 1})
	if err == nil && (len(got) != 1 || got[0].ID != first[0]) {
		t.Errorf("same token: got %v, want the machine %s that is gone, or a refusal", got, first[0])
	}
	for _, i := range s.list(t, p) {
		if i.State == cloud.InstanceStarting || i.State == cloud.InstanceRunning {
			t.Errorf("list: got %+v, want nothing alive", i)
		}
	}
}

func keepsPoolsApart(t *testing.T, s InstancesSuite) {
	if s.Other == nil {
		t.Skip("this platform has one pool")
	}
	mine := s.New(t)
	theirs := s.Other(t, mine)
	a, b := s.launch(t, mine, "a", 1), s.launch(t, theirs, "b", 1)
	s.awaitRunning(t, mine, a[0].ID)
	s.awaitRunning(t, theirs, b[0].ID)
	if diff := cmp.Diff(ids(s.list(t, mine)), ids(a)); diff != "" {
		t.Errorf("my machines (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(ids(s.list(t, theirs)), ids(b)); diff != "" {
		t.Errorf("the other pool's machines (-got +want):\n%s", diff)
	}
}

func tellsNoCapacity(t *testing.T, s InstancesSuite) {
	if s.NoCapacity == nil {
		t.Skip("this platform cannot be made to run out")
	}
	p := s.New(t)
	s.NoCapacity(t, p)
	got, err := p.Launch(t.Context(), cloud.Launch{Token: "more", Offer: s.Offer, Count: 1})
	if cloud.KindOf(err) != cloud.NoCapacity {
		t.Errorf("launch: got %v and %v, want it refused for capacity", got, err)
	}
}

func obeysContext(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Launch(ctx, cloud.Launch{Token: "late", Offer: s.Offer, Count: 1}); err == nil {
		t.Errorf("launch: got no error, want one")
	}
}

func showsConsole(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	c, ok := p.(cloud.Console)
	if !ok {
		t.Skip("this platform does not show what machines write")
	}
	i := s.awaitRunning(t, p, s.launch(t, p, "one", 1)[0].ID)
	_, err := c.Console(t.Context(), i.ID)
	if err != nil && cloud.KindOf(err) != cloud.Denied {
		t.Errorf("console: got %v, want none or a refusal as denied", err)
	}
}

func sweeps(t *testing.T, s InstancesSuite) {
	p := s.New(t)
	w, ok := p.(cloud.Sweeper)
	if !ok {
		t.Skip("this platform leaves nothing but machines")
	}
	for range 2 {
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Errorf("sweep: %v", err)
		}
	}
}
