package cloudtest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
)

// look is the polling interval.
const look = 50 * time.Millisecond

func (s InstancesSuite) launch(t *testing.T, p cloud.Instances, token string, count int) []cloud.Instance {
	t.Helper()
	got, err := p.Launch(t.Context(), cloud.Launch{Token: token, Offer: s.Offer, Count: count})
	if err != nil {
		t.Fatalf("launch %s: %v", token, err)
	}
	if len(got) == 0 {
		t.Fatalf("launch %s: got nothing and no error, want a machine", token)
	}
	return got
}

func (s InstancesSuite) list(t *testing.T, p cloud.Instances) []cloud.Instance {
	t.Helper()
	got, err := p.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return got
}

func (s InstancesSuite) terminate(t *testing.T, p cloud.Instances, gone ...cloud.InstanceID) {
	t.Helper()
	if err := p.Terminate(t.Context(), gone); err != nil {
		t.Fatalf("terminate %v: %v", gone, err)
	}
}

// same checks that two results contain the same machines, and that no others exist.
func (s InstancesSuite) same(t *testing.T, p cloud.Instances, a, b []cloud.Instance) {
	t.Helper()
	if diff := cmp.Diff(sorted(b), sorted(a)); diff != "" {
		t.Errorf("machines of the same token (-got +want):\n%s", diff)
	}
	for _, id := range ids(a) {
		s.awaitRunning(t, p, id)
	}
	if got := s.list(t, p); len(got) != len(a) {
		t.Errorf("list: got %v, want the %d machines of the token", ids(got), len(a))
	}
}

func sorted(all []cloud.Instance) []cloud.InstanceID {
	out := ids(all)
	slices.Sort(out)
	return out
}

// awaitRunning waits until a machine is listed as running.
func (s InstancesSuite) awaitRunning(t *testing.T, p cloud.Instances, id cloud.InstanceID) cloud.Instance {
	t.Helper()
	var seen cloud.Instance
	s.eventually(t, func() bool {
		for _, i := range s.list(t, p) {
			if i.ID == id {
				seen = i
			}
		}
		return seen.State == cloud.InstanceRunning
	}, func() { t.Fatalf("machine %s: got %+v, want it running", id, seen) })
	return seen
}

// awaitGone waits until a machine is terminated or no longer listed.
func (s InstancesSuite) awaitGone(t *testing.T, p cloud.Instances, id cloud.InstanceID) {
	t.Helper()
	var seen []cloud.Instance
	s.eventually(t, func() bool {
		seen = s.list(t, p)
		return !slices.ContainsFunc(seen, func(i cloud.Instance) bool {
			return i.ID == id && i.State != cloud.InstanceTerminated
		})
	}, func() { t.Fatalf("list: got %+v, want %s gone", seen, id) })
}

func (s InstancesSuite) eventually(t *testing.T, ok func() bool, otherwise func()) {
	t.Helper()
	for waited := time.Duration(0); !ok(); waited += look {
		if waited >= s.Patience {
			otherwise()
			return
		}
		if s.Wait != nil {
			s.Wait(look)
			continue
		}
		select {
		case <-t.Context().Done():
			return
		case <-time.After(look):
		}
	}
}
