package gcp_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/event"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

const launchMaster = "compute.instances.insert"

// full removes the capacity of zones for any machine.
func (s *stage) full(zones ...string) {
	for _, z := range zones {
		s.world.StockOut(z, "", -1)
	}
}

// wantPlaces compares the zones of the cluster's data disks and machines.
func (s *stage) wantPlaces(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	disks, err := s.clients(nil).ListDisks(t.Context(), "name=det-lab-data")
	must(t, err)
	for _, d := range disks {
		if d.Name == "det-lab-data" { // a filter may be ignored
			got = append(got, "disk in "+path.Base(d.Zone))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(s.world.Instances())) {
		got = append(got, "machine in "+strings.Split(at, "/")[3])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheNextZoneIsTriedForTheMaster(t *testing.T) {
	for name, o := range map[string]gcptest.Options{"a Google that is prompt": {}, "a Google with its delays": slow()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, o)
				s.full("us-central1-a", "us-central1-b")
				shown, err := s.UpShown(t.Context())
				must(t, err)
				want := []string{"us-central1-a has no capacity for n2-standard-2; trying us-central1-b", "us-central1-b has no capacity for n2-standard-2; trying us-central1-c"}
				if !slices.Equal(shown, want) {
					t.Errorf("shown %q, want %q", shown, want)
				}
				s.wantPlaces(t, "disk in us-central1-c", "machine in us-central1-c")
				s.WantNothingToDo(t)
				_, err = s.Down(t.Context(), true)
				must(t, err)
				s.wantLeft(t)
			})
		})
	}
}

// If a move of the master fails, a second run finishes it in the new zone.
func TestMoveIsResumed(t *testing.T) {
	for _, tc := range []struct {
		op     string
		before int // the number of calls before the fault
	}{{launchMaster, 0}, {"compute.disks.delete", 0}, {"compute.disks.insert", 1}, {launchMaster, 1}} {
		for _, f := range ways() {
			t.Run(fmt.Sprintf("%s at call %d of %s", f, tc.before+1, tc.op), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					resumesMove(t, func(w *gcptest.World) { w.FailOp(tc.op, append(slices.Repeat([]faults.Fault{""}, tc.before), f)...) })
				})
			})
		}
	}
}

// The same with a fault at every change from the rejected launch on.
func TestMoveIsResumedAfterEachChange(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	first, last := 0, 0
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.full("us-central1-a")
		must(t, s.Up(t.Context()))
		first, last = hostedtest.ChangesOf(s.world.Journal(), launchMaster)
	})
	if last-first < 2 {
		t.Fatalf("got changes %d to %d, want some between two launches", first, last)
	}
	for n := first - 1; n <= last+4; n++ {
		for _, f := range faults.Ways(ways(), n) {
			t.Run(fmt.Sprintf("%s at change %d", f, n), func(t *testing.T) {
				bubble(t, func(t *testing.T) { resumesMove(t, func(w *gcptest.World) { w.FailChange(n, f) }) })
			})
		}
	}
}

func resumesMove(t *testing.T, fail func(*gcptest.World)) {
	t.Helper()
	s := newStage(t, gcptest.Options{IgnoreFilters: true})
	s.full("us-central1-a")
	fail(s.world)
	first := s.Up(t.Context())
	s.Resume(s.world)
	if err := s.Up(t.Context()); err != nil {
		t.Fatalf("the same command again: %v (the first time: %v)", err, first)
	}
	s.wantPlaces(t, "disk in us-central1-b", "machine in us-central1-b")
	s.WantNothingToDo(t)
	s.WantVersion(t)
	_, err := s.Down(t.Context(), true)
	must(t, err)
	s.wantLeft(t)
}

// The master is not moved if another resource has failed too; the user decides.
func TestMasterDoesNotMoveAfterAnotherFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.full("us-central1-a")
		s.world.FailOp("compute.firewalls.insert", faults.Refuse)
		shown, err := s.UpShown(t.Context())
		if err == nil || !strings.Contains(err.Error(), "create gcp/firewall-rule/") || !strings.Contains(err.Error(), "create gcp/instance/master: ") || len(shown) > 0 {
			t.Errorf("got %v and shown %q, want both refusals and no move", err, shown)
		}
		s.wantPlaces(t, "disk in us-central1-a")
		must(t, s.Up(t.Context()))
		s.wantPlaces(t, "disk in us-central1-b", "machine in us-central1-b")
	})
}

// A master does not leave the zone of its data, nor one that the user has named.
func TestMoveRefusalNamesTheRemedy(t *testing.T) {
	const here = "create gcp/instance/master: us-central1-a"
	for _, tc := range []struct {
		name  string
		flags func(t *testing.T, s *stage) []string
		// first is false where the cluster exists already.
		first     bool
		want, fix string
	}{
		{
			"with data", func(*testing.T, *stage) []string { return nil }, true,
			here + " has no capacity for n2-standard-2, and disk det-lab-data (us-central1-a/det-lab-data), which is there, holds the database: ",
			"try again later, or choose another --master-machine-type",
		},
		{
			"from a snapshot", func(t *testing.T, s *stage) []string { return fromSnapshot(t, s.world) }, false,
			here + " has no capacity for n2-standard-2, and disk det-lab-data ", "try again later, or choose another --master-machine-type",
		},
		{
			"in a zone that was named", func(*testing.T, *stage) []string { return []string{"zone", "us-central1-a"} }, false,
			here + ", which --zone names, has no capacity for n2-standard-2: ", `choose another --zone, or any with --zone "", or another --master-machine-type`,
		},
		{
			"on a disk of the user's", func(_ *testing.T, s *stage) []string {
				s.world.GiveDisk(gcptest.Project, "us-central1-a", "mine", 200)
				return []string{"data-disk", "mine"}
			}, false,
			here + ", where disk mine is, has no capacity for n2-standard-2: ", "try again later, or choose another --master-machine-type",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				s.Set(tc.flags(t, s)...)
				if tc.first {
					must(t, s.Up(t.Context()))
					_, err := s.Down(t.Context(), false)
					must(t, err)
				}
				s.full("us-central1-a")
				err := s.Up(t.Context())
				if cloud.KindOf(err) != cloud.NoCapacity || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "nothing needs cleaning up") || event.Hint(err) != tc.fix {
					t.Errorf("got %v with the hint %q, want %q and %q", err, event.Hint(err), tc.want, tc.fix)
				}
				s.world.StockOut("us-central1-a", "", 0)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
			})
		})
	}
}

// The zone may still be changed, or left to det-deploy, while the disk is empty.
func TestZoneMayChangeWhileDiskIsEmpty(t *testing.T) {
	for _, other := range []string{"us-central1-b", ""} {
		t.Run("zone "+other, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{}, "zone", "us-central1-a")
				s.full("us-central1-a")
				if err := s.Up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
					t.Fatalf("got %v, want that the zone has none", err)
				}
				s.Set("zone", other)
				must(t, s.Up(t.Context()))
				s.wantPlaces(t, "disk in us-central1-b", "machine in us-central1-b")
			})
		})
	}
}

func TestMoveErrorNamesAllZones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.full("us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f")
		err := s.Up(t.Context())
		const fix = "try again later, or choose another --master-machine-type, or another --region for a new cluster"
		wants := []string{"no zone has capacity for n2-standard-2:\n"}
		for _, z := range []string{"a", "b", "c", "f"} {
			wants = append(wants, "\n  us-central1-"+z+": compute.instances.insert")
		}
		for _, want := range wants {
			if cloud.KindOf(err) != cloud.NoCapacity || !strings.Contains(err.Error(), want) || event.Hint(err) != fix {
				t.Errorf("got %v with the hint %q, want %q and %q", err, event.Hint(err), want, fix)
			}
		}
		s.world.StockOut("us-central1-a", "", 0)
		must(t, s.Up(t.Context())) // starts with the zone of the last run and wraps around
		s.wantPlaces(t, "disk in us-central1-a", "machine in us-central1-a")
		s.WantNothingToDo(t)
	})
}
