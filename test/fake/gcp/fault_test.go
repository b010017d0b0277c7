package gcptest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Each fault has its documented effect on a change with an operation.
func TestFaultsOfChangesWithOperations(t *testing.T) {
	t.Parallel()
	effect := []faults.Fault{faults.LoseReply, faults.KillAfter, faults.Stale, gcptest.ForgetOperation}
	answered := []faults.Fault{faults.Stale, gcptest.FailOperation, gcptest.ForgetOperation}
	for _, f := range gcptest.Faults() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, c := newWorld(t, gcptest.Options{Operation: time.Minute})
				w.FailChange(1, f)
				_, err := c.compute.Addresses.Insert(project, region, &compute.Address{Name: "det-lab-master"}).Do()
				if (err == nil) != slices.Contains(answered, f) {
					t.Errorf("got %v", err)
				}
				w.Revive()
				pass(t, time.Minute)
				if got := len(w.Live()) == 1; got != slices.Contains(effect, f) {
					t.Errorf("has an effect: %v", got)
				}
			})
		})
	}
}

// A call that is throttled once succeeds when it is repeated with its requestId; one that is
// throttled permanently does not.
func TestThrottledCallIsIdentifiedByRequestID(t *testing.T) {
	t.Parallel()
	for i, f := range []faults.Fault{faults.ThrottleOnce, faults.Throttle} {
		w, c := newWorld(t, gcptest.Options{})
		w.FailChange(1, f)
		insert := func() error {
			_, err := c.compute.Addresses.Insert(project, region, &compute.Address{Name: "a"}).RequestId("0d2a9e0c-7a55-4f0c-8a5e-2f9f4d1f4b7a").Do()
			return err
		}
		wantStatus(t, insert(), 403, "rateLimitExceeded")
		if err := insert(); (err == nil) != (i == 0) {
			t.Errorf("%s: got %v", f, err)
		}
		if n := w.Changes(); n != 1 {
			t.Errorf("%s: are %d changes", f, n)
		}
	}
}

// A stale list omits the latest change, and lists may lag.
func TestListsLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t, gcptest.Options{Lag: time.Minute})
		listed := func() int {
			return len(made[*compute.NetworkList](t)(c.compute.Networks.List(project).Do()).Items)
		}
		c.done(t)(c.compute.Networks.Insert(project, &compute.Network{Name: "det-lab"}).Do())
		made[*compute.Network](t)(c.compute.Networks.Get(project, "det-lab").Do())
		if n := listed(); n != 1 {
			t.Errorf("are %d networks, want the default one", n)
		}
		pass(t, time.Minute+time.Second)
		if n := listed(); n != 2 {
			t.Errorf("are %d networks", n)
		}
		w.Tune(func(o *gcptest.Options) { o.Lag = 0 })
		c.done(t)(c.compute.Networks.Delete(project, "det-lab").Do())
		if n := listed(); n != 1 {
			t.Errorf("are %d networks", n)
		}
		c.done(t)(c.compute.Networks.Insert(project, &compute.Network{Name: "det-lab"}).Do())
		w.FailOp("compute.networks.list", faults.Stale)
		if n := listed(); n != 1 {
			t.Errorf("a stale list has %d networks", n)
		}
	})
}

// Machine types, GPUs and images depend on the zone.
func TestFactsOfZones(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	var zones []string
	if err := c.compute.AcceleratorTypes.AggregatedList(project).Filter("name=nvidia-tesla-a100").Pages(t.Context(), func(l *compute.AcceleratorTypeAggregatedList) error {
		for zone, s := range l.Items {
			if len(s.AcceleratorTypes) > 0 {
				zones = append(zones, last(zone))
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(zones)
	if want := []string{"europe-west4-a", "us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f", "us-west1-b"}; !slices.Equal(zones, want) {
		t.Errorf("got %v", zones)
	}
	m := made[*compute.MachineType](t)(c.compute.MachineTypes.Get(project, zoneB, "a2-highgpu-8g").Do())
	if m.Accelerators[0].GuestAcceleratorCount != 8 || m.GuestCpus != 96 {
		t.Errorf("got %+v", m)
	}
	_, err := c.compute.MachineTypes.Get(project, "us-west1-a", "a2-highgpu-8g").Do()
	wantStatus(t, err, 404, "notFound")
	i := made[*compute.Image](t)(c.compute.Images.GetFromFamily("ubuntu-os-cloud", "ubuntu-2204-lts").Do())
	if i.SelfLink != "https://www.googleapis.com/compute/v1/"+gcptest.ImageUbuntu {
		t.Errorf("got %s", i.SelfLink)
	}
}
