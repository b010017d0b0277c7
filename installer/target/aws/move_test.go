package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/installer/event"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/rest"
)

const launchMaster = "ec2:RunInstances"

// full removes the capacity of zones for the master's machine.
func (s *stage) full(zones ...string) {
	for _, z := range zones {
		s.world.SetCapacity("m6i.large", z, 0)
	}
}

// wantPlaces compares the zones of the cluster's volumes and machines.
func (s *stage) wantPlaces(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	volumes, err := s.clients(nil).EC2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
	must(t, err)
	for _, v := range volumes.Volumes {
		if mark.EC2TagMap(v.Tags)[mark.ResourceTag] == "data" {
			got = append(got, "volume in "+*v.AvailabilityZone)
		}
	}
	for _, m := range s.world.Instances() {
		if m.State.Name != "terminated" {
			got = append(got, "machine in "+*m.Placement.AvailabilityZone)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheNextZoneIsTriedForTheMaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "zone", "us-west-2a,us-west-2b,us-west-2c")
		before := s.world.Live()
		s.full("us-west-2a", "us-west-2b")
		told, err := s.UpShown(t.Context())
		must(t, err)
		want := []string{"us-west-2a has no capacity for m6i.large; trying us-west-2b", "us-west-2b has no capacity for m6i.large; trying us-west-2c"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		s.wantPlaces(t, "volume in us-west-2c", "machine in us-west-2c")
		s.WantNothingToDo(t)
		_, err = s.Down(t.Context(), true)
		must(t, err)
		s.wantLeft(t, before...)
	})
}

// If a move of the master fails, a second run finishes it in the new zone.
func TestMoveIsResumed(t *testing.T) {
	for _, tc := range []struct {
		op     string
		before int // the number of calls before the fault
	}{{launchMaster, 0}, {"ec2:DeleteVolume", 0}, {"ec2:CreateVolume", 1}, {launchMaster, 1}, {"ec2:AttachVolume", 0}} {
		for _, f := range ways() {
			t.Run(fmt.Sprintf("%s at call %d of %s", f, tc.before+1, tc.op), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					resumesMove(t, func(w *awstest.World) { w.FailOp(tc.op, append(slices.Repeat([]faults.Fault{""}, tc.before), f)...) })
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
		s := newStage(inMemory(awstest.Options{}))
		s.full("us-west-2a")
		must(t, s.Up(t.Context()))
		first, last = hostedtest.ChangesOf(s.world.Journal(), launchMaster)
	})
	if last-first < 2 {
		t.Fatalf("got changes %d to %d, want some between two launches", first, last)
	}
	for n := first - 1; n <= last+4; n++ {
		for _, f := range faults.Ways(ways(), n) {
			t.Run(fmt.Sprintf("%s at change %d", f, n), func(t *testing.T) {
				bubble(t, func(t *testing.T) { resumesMove(t, func(w *awstest.World) { w.FailChange(n, f) }) })
			})
		}
	}
}

func resumesMove(t *testing.T, fail func(*awstest.World)) {
	t.Helper()
	s := newStage(inMemory(awstest.Options{}))
	before := s.world.Live()
	s.full("us-west-2a")
	fail(s.world)
	first := s.Up(t.Context())
	s.Resume(s.world)
	if err := s.Up(t.Context()); err != nil {
		t.Fatalf("the same command again: %v (the first time: %v)", err, first)
	}
	s.wantPlaces(t, "volume in us-west-2b", "machine in us-west-2b")
	s.WantNothingToDo(t)
	s.WantVersion(t)
	_, err := s.Down(t.Context(), true)
	must(t, err)
	s.wantLeft(t, before...)
}

// A master does not leave the zone of its data, nor one that the user has named.
func TestMoveRefusalNamesTheRemedy(t *testing.T) {
	const here = "create aws/instance/master: us-west-2a"
	for _, tc := range []struct {
		name  string
		flags func(t *testing.T, s *stage) []string
		// first is false where the cluster exists already.
		first     bool
		want, fix string
	}{
		{
			"with data", func(*testing.T, *stage) []string { return nil }, true,
			here + " has no capacity for m6i.large, and volume data (vol-", "try again later, or choose another --master-instance-type",
		},
		{
			"from a snapshot", func(_ *testing.T, s *stage) []string { return []string{"data-snapshot", s.world.GiveSnapshot(100)} }, false,
			here + " has no capacity for m6i.large, and volume data (vol-", "try again later, or choose another --master-instance-type",
		},
		{
			"in a zone that was named", func(*testing.T, *stage) []string { return []string{"master-zone", "us-west-2a"} }, false,
			here + ", which --master-zone names, has no capacity for m6i.large: ", `choose another --master-zone, or any with --master-zone "", or another --master-instance-type`,
		},
		{
			"in a subnet of the user's", func(t *testing.T, s *stage) []string { return existing(t, s.cloudy) }, false,
			here + ", where subnet-", "choose a subnet in another zone with --master-subnet, or another --master-instance-type",
		},
		{
			"on a volume of the user's", func(t *testing.T, s *stage) []string { return []string{"data-volume", s.giveVolume(t, "us-west-2a")} }, false,
			here + ", where volume vol-", "try again later, or choose another --master-instance-type",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}))
				s.Set(tc.flags(t, s)...)
				if tc.first {
					must(t, s.Up(t.Context()))
					_, err := s.Down(t.Context(), false)
					must(t, err)
				}
				s.full("us-west-2a")
				err := s.Up(t.Context())
				if cloud.KindOf(err) != cloud.NoCapacity || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "nothing needs cleaning up") || event.Hint(err) != tc.fix {
					t.Errorf("got %v with the hint %q, want %q and %q", err, event.Hint(err), tc.want, tc.fix)
				}
				s.world.SetCapacity("m6i.large", "us-west-2a", 1)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
			})
		})
	}
}

// The zone may still be changed while the volume is empty.
func TestZoneMayChangeWhileVolumeIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "master-zone", "us-west-2a")
		s.full("us-west-2a")
		if err := s.Up(t.Context()); cloud.KindOf(err) != cloud.NoCapacity {
			t.Fatalf("got %v, want that the zone has none", err)
		}
		s.Set("master-zone", "us-west-2b")
		must(t, s.Up(t.Context()))
		s.wantPlaces(t, "volume in us-west-2b", "machine in us-west-2b")
	})
}

func TestMoveErrorNamesAllZones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "zone", "us-west-2a,us-west-2b")
		s.full("us-west-2a", "us-west-2b")
		err := s.Up(t.Context())
		const fix = "try again later, or choose another --master-instance-type, or more zones with --zone"
		for _, want := range []string{"no zone has capacity for m6i.large:\n", "\n  us-west-2b: ec2:RunInstances", "\n  us-west-2a: ec2:RunInstances"} {
			if cloud.KindOf(err) != cloud.NoCapacity || !strings.Contains(err.Error(), want) || event.Hint(err) != fix {
				t.Errorf("got %v with the hint %q, want %q and %q", err, event.Hint(err), want, fix)
			}
		}
		s.world.SetCapacity("m6i.large", "us-west-2a", 1)
		must(t, s.Up(t.Context())) // starts with the zone of the last run and wraps around
		s.wantPlaces(t, "volume in us-west-2a", "machine in us-west-2a")
		s.WantNothingToDo(t)
	})
}

func (s *stage) giveVolume(t *testing.T, zone string) string {
	t.Helper()
	v, err := s.clients(nil).EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: &zone, Size: sdk.Int32(100), VolumeType: "gp3"})
	must(t, err)
	return *v.VolumeId
}
