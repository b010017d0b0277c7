package infra_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// nameOf returns an object's name.
func nameOf(v any) string {
	return fmt.Sprintf("%T/%s", v, reflect.ValueOf(v).Elem().FieldByName("Name").String())
}

// slow returns options with Google's delays.
func slow() gcptest.Options {
	return gcptest.Options{Operation: 2 * time.Second, Lag: 3 * time.Second, InUseLater: true, Page: 1}
}

func TestLifecycle(t *testing.T) {
	for name, o := range map[string]gcptest.Options{"at once": {}, "slow": slow(), "filters that do not filter": {IgnoreFilters: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, o)
				before := s.everything(t)
				must(t, s.up(t.Context()))
				s.settleDown()
				s.wantNothingToDo(t)
				if d := cmp.Diff(s.live(t), whole); d != "" {
					t.Errorf("inventory: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				must(t, s.down(t.Context()))
				s.settleDown()
				if d := cmp.Diff(s.everything(t), before); d != "" {
					t.Errorf("left behind: got -, want +:\n%s", d)
				}
				must(t, s.down(t.Context()))
			})
		})
	}
}

func TestDriftIsShownAndRepaired(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, s *stage)
		want   []string
	}{
		"other ranges": {
			func(_ *testing.T, s *stage) { s.wish.inbound = "198.51.100.0/24" },
			[]string{"update gcp/firewall-rule/master-port; from: 203.0.113.0/24, det-lab-agent → 198.51.100.0/24, det-lab-agent"},
		},
		"a rule more": {func(_ *testing.T, s *stage) { s.wish.ssh = true }, []string{"create gcp/firewall-rule/ssh"}},
		"a label": {
			func(_ *testing.T, s *stage) { s.wish.labels = map[string]string{"team": "vision"} },
			[]string{
				"update gcp/address/master; tags.team:  → vision", "update gcp/bucket/data; tags.team:  → vision",
				"update gcp/disk/data; tags.team:  → vision", "update gcp/instance/master; tags.team:  → vision",
				"update gcp/secret/db-url; tags.team:  → vision", "update gcp/secret/admin-password; tags.team:  → vision",
			},
		},
		"a larger disk": {func(_ *testing.T, s *stage) { s.wish.disk = 200 }, []string{"update gcp/disk/data; size: 100 GB → 200 GB"}},
		"a rule that is not enforced": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Firewalls.Patch(c.Project, "det-lab-agents", &compute.Firewall{Disabled: true})))
			},
			[]string{"update gcp/firewall-rule/agents; enforced: off → on"},
		},
		"no private access": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Subnetworks.SetPrivateIpGoogleAccess(c.Project, c.Region, "det-lab-us-central1",
					&compute.SubnetworksSetPrivateIpGoogleAccessRequest{ForceSendFields: []string{"PrivateIpGoogleAccess"}})))
			},
			[]string{"update gcp/subnetwork/us-central1; private-google-access: off → on"},
		},
		"no way out": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Routers.Patch(c.Project, c.Region, "det-lab-nat", &compute.Router{NullFields: []string{"Nats"}})))
			},
			[]string{"update gcp/router/nat; nat: off → on"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				must(t, s.up(t.Context()))
				tc.change(t, s)
				if d := cmp.Diff(s.plan(t), tc.want); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
			})
		})
	}
}

// If a list still shows deleted objects, up does not delete the objects that it creates.
func TestUpAfterDownWithStaleLists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		must(t, s.up(t.Context()))
		s.settleDown()
		must(t, infra.Objects{Cluster: s.cluster(t.Context(), nil)}.Remove(t.Context(), foundOf("instance", masterPath)))
		must(t, s.up(t.Context()))
		s.settleDown()
		if d := cmp.Diff(s.live(t), whole); d != "" {
			t.Errorf("inventory: got -, want +:\n%s", d)
		}
		s.wantNothingToDo(t)
	})
}

// The names of the cluster lab-2 have those of lab as their prefix; lab-2 remains unchanged.
func TestClusterWithSameNamePrefix(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{IgnoreFilters: true})
		before := s.everything(t)
		other := newStage(t, gcptest.Options{})
		other.world, other.id = s.world, "lab-2"
		must(t, other.up(t.Context()))
		between := s.everything(t)
		must(t, s.up(t.Context()))
		if d := cmp.Diff(s.live(t), whole); d != "" {
			t.Errorf("inventory: got -, want +:\n%s", d)
		}
		must(t, s.down(t.Context()))
		if d := cmp.Diff(s.everything(t), between); d != "" {
			t.Errorf("after down of lab: got -, want lab-2 whole:\n%s", d)
		}
		must(t, other.down(t.Context()))
		if d := cmp.Diff(s.everything(t), before); d != "" {
			t.Errorf("left behind: got -, want +:\n%s", d)
		}
	})
}

// An object with one of the cluster's names and without its mark belongs to the user.
func TestForeignObjectsAreNotTouched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		c := s.clients(t)
		must(t, api.Run(t.Context(), c, c.Compute.Addresses.Insert(c.Project, c.Region, &compute.Address{Name: "det-lab-master", AddressType: "EXTERNAL", Labels: map[string]string{"det-deploy-cluster": "lab-2"}})))
		before := s.everything(t)
		err := s.up(t.Context())
		e, ok := errors.AsType[*cloud.Error](err)
		if !ok || e.Kind != cloud.Conflict || !strings.Contains(err.Error(), "address det-lab-master: does not belong to the cluster") {
			t.Errorf("got %v, want that it is not ours", err)
		}
		must(t, s.down(t.Context()))
		if d := cmp.Diff(s.everything(t), before); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

// Down retains the data, and reports that, unless its deletion is requested.
func TestDownRetainsData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		disk := &storage.Disk{In: s.cluster(t.Context(), nil), Zone: "us-central1-a", SizeGB: 100, Type: "pd-balanced"}
		for i := range 3 {
			if i == 2 {
				s.world.FailSnapshot(gcptest.Project, "det-lab-before-3")
			}
			where, err := storage.Keep(t.Context(), disk.In, "us-central1-a/det-lab-data", "before-3")
			if err != nil || where != "det-lab-before-3" {
				t.Errorf("got %q and %v, want one snapshot, in place of a failed one", where, err)
			}
		}
		in := s.operator(t.Context())
		p, err := in.PlanDown(t.Context(), false)
		must(t, err)
		_, err = in.Down(t.Context(), p, false)
		must(t, err)
		if d := cmp.Diff(s.live(t), []string{
			"bucket/det-deploy-lab-data-415104041262", "disk/det-lab-data", "secret/det-deploy-lab-db-url", "snapshot/det-lab-before-3",
		}); d != "" {
			t.Errorf("after down: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		must(t, s.down(t.Context()))
		if got := s.live(t); len(got) > 0 {
			t.Errorf("after deleting the data: got %v, want nothing", got)
		}
	})
}

// A disk that is larger than requested is kept, because disks cannot shrink.
func TestLargerDiskIsKeptWithANote(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		s.wish.disk = 50
		s.wantNothingToDo(t)
		p, err := s.operator(t.Context()).Plan(t.Context())
		must(t, err)
		var b strings.Builder
		must(t, p.Render(&b))
		if want := "= keep     gcp/disk/data  has 100 GB, more than the requested 50 GB"; !strings.Contains(b.String(), want) {
			t.Errorf("got %s, want %q", b.String(), want)
		}
	})
}

// Remove waits for objects in use and ignores missing ones.
func TestInventoryIsDeletedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		must(t, s.up(t.Context()))
		s.settleDown()
		target := infra.Objects{Cluster: s.cluster(t.Context(), nil)}
		fs, err := target.Inventory(t.Context(), "lab")
		must(t, err)
		kinds := target.Kinds()
		slices.Reverse(kinds)
		for range 2 {
			for _, kind := range kinds {
				for _, f := range fs {
					if f.Kind == kind {
						must(t, target.Remove(t.Context(), f))
					}
				}
			}
		}
		s.settleDown()
		if got := s.live(t); len(got) > 0 {
			t.Errorf("left behind: %v", got)
		}
	})
}

func TestRemoveUnknownKind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		f := infra.Objects{Cluster: s.cluster(t.Context(), nil)}
		got := f.Remove(t.Context(), foundOf("quantum-computer", "q"))
		if got == nil || got.Error() != "remove quantum-computer q: unknown kind quantum-computer" {
			t.Errorf("got %v, want an error", got)
		}
	})
}
