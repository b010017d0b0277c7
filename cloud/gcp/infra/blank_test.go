package infra_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// A disk that was never attached does not tie the cluster to a zone, and `down` deletes it.
func TestBlankDiskIsReplacedInOtherZone(t *testing.T) {
	for name, o := range map[string]gcptest.Options{"at once": {}, "slow": slow()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, o)
				s.world.StockOut("us-central1-a", "", -1)
				if err := s.up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
					t.Fatalf("got %v, want that the zone has none", err)
				}
				s.settleDown()
				s.wish.zone = "us-central1-b"
				if got := strings.Join(s.plan(t), "\n"); !strings.Contains(got, "replace gcp/disk/data; zone: us-central1-a → us-central1-b") {
					t.Errorf("got %s, want the disk replaced", got)
				}
				must(t, s.up(t.Context()))
				s.settleDown()
				s.wantNothingToDo(t)
				s.wantDisks(t, "us-central1-b/det-lab-data")
			})
		})
	}
}

// A disk that was attached is retained, also after the instance is deleted.
func TestDetachedDiskIsRetained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		c := s.clients(t)
		must(t, api.Run(t.Context(), c, c.Compute.Instances.SetDeletionProtection(c.Project, "us-central1-a", "det-lab-master").DeletionProtection(false)))
		must(t, api.Run(t.Context(), c, c.Compute.Instances.Delete(c.Project, "us-central1-a", "det-lab-master")))
		s.wish.zone = "us-central1-b"
		if got := strings.Join(s.plan(t), "\n"); !strings.Contains(got, "refuse gcp/disk/data; zone: us-central1-a → us-central1-b") {
			t.Errorf("got %s, want the disk refused", got)
		}
		must(t, s.remove(t.Context(), false))
		s.wantDisks(t, "us-central1-a/det-lab-data")
	})
}

func TestDownDeletesBlankDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.world.StockOut("us-central1-a", "", -1)
		if err := s.up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
			t.Fatalf("got %v, want that the zone has none", err)
		}
		s.wantDisks(t, "us-central1-a/det-lab-data")
		must(t, s.remove(t.Context(), false))
		s.wantDisks(t)
	})
}

// wantDisks compares the data disks by zone and name.
func (s *stage) wantDisks(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	all, err := s.clients(t).ListDisks(t.Context(), "name=det-lab-data")
	must(t, err)
	for _, d := range all {
		got = append(got, d.Zone[strings.LastIndexByte(d.Zone, '/')+1:]+"/"+d.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got disks %q, want %q", got, want)
	}
}
