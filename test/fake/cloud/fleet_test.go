package cloudtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

func offer() cloud.Offer {
	return cloud.Offer{Type: "g5.xlarge", Zone: "zone-a", Price: cloud.Spot}
}

// The in-memory platform fulfills the contract of cloud.Instances.
func TestFleetContract(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]cloudtest.Knobs{
		"at once":    {},
		"boots slow": {Boot: 40 * time.Second, Shutdown: 20 * time.Second, Forget: time.Hour},
		"lists late": {Boot: time.Second, AppearLate: time.Minute, ChangeLate: 30 * time.Second, Forget: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contract(k).Run(t)
		})
	}
}

// contract returns the suite with the platform of each test stored beside its pool.
func contract(k cloudtest.Knobs) cloudtest.InstancesSuite {
	return cloudtest.InstancesSuite{
		New:     func(*testing.T) cloud.Instances { return cloudtest.NewFleet(k, quick()).Pool("a") },
		Offer:   offer(),
		Unknown: "i-9999999",
		Reopen: func(_ *testing.T, p cloud.Instances) cloud.Instances {
			return p.(*cloudtest.FleetPool).Fleet().Pool("a")
		},
		Other: func(_ *testing.T, p cloud.Instances) cloud.Instances {
			return p.(*cloudtest.FleetPool).Fleet().Pool("b")
		},
		NoCapacity: func(_ *testing.T, p cloud.Instances) {
			p.(*cloudtest.FleetPool).Fleet().Refuse(cloud.Offer{}, cloud.NoCapacity, -1)
		},
		LoseReply: func(_ *testing.T, p cloud.Instances) {
			p.(*cloudtest.FleetPool).Fleet().FailAt(1, faults.LoseReply)
		},
	}
}

// quick returns a clock on which a millisecond is a minute.
func quick() func() time.Time {
	start := time.Now()
	return func() time.Time { return cloudtest.Epoch().Add(time.Since(start) * 60_000) }
}

func TestFleetRefusesOffer(t *testing.T) {
	t.Parallel()
	f := cloudtest.NewFleet(cloudtest.Knobs{Most: 1}, nil)
	p := f.Pool("a")
	f.Refuse(cloud.Offer{Type: "g5.xlarge"}, cloud.Quota, 1)
	launch := func(token, kind string, count int) (int, cloud.Kind) {
		got, err := p.Launch(t.Context(), cloud.Launch{Token: token, Offer: cloud.Offer{Type: kind, Price: cloud.Spot}, Count: count})
		return len(got), cloud.KindOf(err)
	}
	for _, c := range []struct {
		name, token, kind string
		granted           int
		refusal           cloud.Kind
	}{
		{"refused as the test wants", "1", "g5.xlarge", 0, cloud.Quota},
		{"granted in part", "2", "g5.xlarge", 1, ""},
		{"the same again", "2", "g5.xlarge", 1, ""},
		{"no more of that", "3", "g5.xlarge", 0, cloud.NoCapacity},
		{"another type", "4", "g6.xlarge", 1, ""},
	} {
		got, kind := launch(c.token, c.kind, 2)
		if got != c.granted || kind != c.refusal {
			t.Errorf("%s: got %d and %q, want %d and %q", c.name, got, kind, c.granted, c.refusal)
		}
	}
}

func TestFleetListsLag(t *testing.T) {
	t.Parallel()
	f := cloudtest.NewFleet(cloudtest.Knobs{AppearLate: time.Minute, ChangeLate: time.Minute, Boot: 10 * time.Second}, nil)
	p := f.Pool("a")
	made, err := p.Launch(t.Context(), cloud.Launch{Token: "1", Offer: offer(), Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	see := func() string {
		l, err := p.List(t.Context())
		if err != nil || len(l) == 0 {
			return "nothing"
		}
		return string(l[0].State)
	}
	var got []string
	step := func(d time.Duration) {
		f.Advance(d)
		got = append(got, see())
	}
	step(59 * time.Second)
	step(time.Second)
	step(10 * time.Second)
	f.End(made[0].ID, "Server.SpotInstanceTermination")
	step(59 * time.Second)
	step(time.Second)
	want := []string{"nothing", "starting", "running", "running", "nothing"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("what lists show (-got +want):\n%s", diff)
	}
	if truth := f.Truth("a"); truth[0].Reason != "Server.SpotInstanceTermination" || len(f.Alive("a")) != 0 {
		t.Errorf("truth: got %+v, want it ended by the platform", truth)
	}
}

func TestFleetJournalAndKill(t *testing.T) {
	t.Parallel()
	f := cloudtest.NewFleet(cloudtest.Knobs{}, nil)
	p := f.Pool("a")
	f.FailAt(1, faults.KillAfter)
	_, err := p.Launch(t.Context(), cloud.Launch{Token: "1", Offer: offer(), Count: 1})
	_, dead := p.List(t.Context())
	f.Revive()
	l, alive := p.List(t.Context())
	if !errors.Is(err, faults.ErrInjected) || !errors.Is(dead, faults.ErrKilled) || alive != nil || len(l) != 1 {
		t.Errorf("got %v, then %v, then %v and %v; want an injected death, and the machine after it", err, dead, alive, l)
	}
	calls := f.Calls(cloudtest.OpLaunch)
	if len(calls) != 1 || calls[0].Err == nil || len(calls[0].IDs) != 1 || len(f.Calls()) != 3 {
		t.Errorf("journal: got %+v, want the launch with its machine and its error", f.Calls())
	}
}
