package fleet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// metadataOf returns the metadata of an instance.
func metadataOf(i *compute.Instance) map[string]string {
	out := make(map[string]string)
	for _, item := range i.Metadata.Items {
		out[item.Key] = *item.Value
	}
	return out
}

func TestLaunchSetsTagsAndProtections(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) {
		c.Spot, c.ExternalIP, c.Pool = true, true, "GPU pool"
	})
	id := string(p.launch(t, "one", 1, spot(zoneB))[0].ID)
	i := p.live()[id]
	if i == nil || !strings.HasPrefix(id, "det-lab-gpu-pool-") || !strings.HasSuffix(id, "-0") {
		t.Fatalf("got machines %v, want %s", p.names(), id)
	}
	launch, pool := i.Labels["det-deploy-launch"], i.Labels["det-deploy-pool"]
	if diff := cmp.Diff(i.Labels, map[string]string{
		"det-deploy-cluster": "lab", "det-deploy-pool": pool, "det-deploy-launch": launch, "managed-by": "lab", "team": "vision",
		"determined-resource-pool": pool, "determined-master-host": "10-0-0-1", "determined-master-port": "8443",
	}); diff != "" || len(launch) != 12 || !strings.HasPrefix(pool, "gpu-pool-") {
		t.Errorf("labels (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(metadataOf(i), map[string]string{
		"startup-script": "#!/bin/sh\n", "determined-master-address": "10.0.0.1:8443", "enable-guest-attributes": "TRUE",
		"det-deploy-pool": "GPU pool", "det-deploy-launch": "one", "det-deploy-type": "n1-standard-8+2xnvidia-tesla-t4",
	}); diff != "" {
		t.Errorf("metadata (-got +want):\n%s", diff)
	}
	disk, err := api.Do(t.Context(), p.clients(t).Compute.Disks.Get(gcptest.Project, zoneB, id))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(disk.Labels, i.Labels); diff != "" {
		t.Errorf("labels of the disk (-got +want):\n%s", diff)
	}
	got := fmt.Sprint(last(i.MachineType), last(i.GuestAccelerators[0].AcceleratorType), i.GuestAccelerators[0].AcceleratorCount, disk.SizeGb, last(disk.Type),
		i.Disks[0].Boot, i.Disks[0].AutoDelete, i.Scheduling.ProvisioningModel, i.Scheduling.OnHostMaintenance, *i.Scheduling.AutomaticRestart,
		i.Scheduling.InstanceTerminationAction, i.MinCpuPlatform, i.Tags.Items, len(i.NetworkInterfaces[0].AccessConfigs), len(i.ServiceAccounts))
	if want := fmt.Sprint("n1-standard-8", "nvidia-tesla-t4", 2, 200, "pd-standard", true, true, "SPOT", "TERMINATE", false, "STOP", "Intel Broadwell", []string{"det-lab-agent"}, 1, 0); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func last(link string) string { return link[strings.LastIndexByte(link, '/')+1:] }

// A2, A3 and G2 machine types include GPUs, and GPUs can be attached to N1 machine types only.
func TestGPUsAreAttachedToN1Only(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	for kind, want := range map[string]string{
		"g2-standard-8": "nvidia-l4", "a3-highgpu-8g": "nvidia-h100-80gb", "n1-standard-8+1xnvidia-tesla-v100": "nvidia-tesla-v100", "e2-standard-4": "", "c3-standard-4": "", "n2d-standard-4": "",
	} {
		id := string(p.launch(t, kind, 1, cloud.Offer{Type: kind, Zone: zoneA, Price: cloud.OnDemand})[0].ID)
		got := ""
		for _, a := range p.live()[id].GuestAccelerators {
			got = last(a.AcceleratorType)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
	for _, kind := range []string{"n2-standard-8+1xnvidia-tesla-t4", "n1-standard-8+0xnvidia-tesla-t4", "n1-standard-8+nvidia-tesla-t4", "N1", "../x"} {
		_, err := p.Launch(t.Context(), cloud.Launch{Token: "x", Count: 1, Offer: cloud.Offer{Type: kind, Zone: zoneA, Price: cloud.OnDemand}})
		if cloud.KindOf(err) != cloud.Invalid {
			t.Errorf("%s: got %v, want it invalid", kind, err)
		}
	}
}

// A stockout is an error of the operation. It is returned when the operation completes, without
// waiting for the provisioning time of an instance.
func TestStockoutIsReturnedImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t, gcptest.Options{Operation: 3 * time.Second, Provisioning: time.Minute}, nil)
		p.world.StockOutWithDetails(zoneB, "nvidia-tesla-t4", -1)
		began := time.Now()
		_, err := p.Launch(t.Context(), cloud.Launch{Token: "one", Offer: onDemand(zoneB), Count: 1})
		if took := time.Since(began); cloud.KindOf(err) != cloud.NoCapacity || took != 3*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		p.launch(t, "one again", 1, onDemand(zoneA))
		if got := p.list(t); len(got) != 1 || got[0].Zone != zoneA {
			t.Errorf("got %+v", got)
		}
	})
}

func TestPartialLaunch(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	p.world.StockOut(zoneB, "", 2)
	got := p.launch(t, "some", 3, onDemand(zoneB))
	if len(got) != 1 || !slices.Equal(p.names(), []string{string(got[0].ID)}) {
		t.Errorf("got %+v of %v", got, p.names())
	}
	p.world.SetQuota(gcptest.Project, "NVIDIA_T4_GPUS", 3)
	if _, err := p.Launch(t.Context(), cloud.Launch{Token: "more", Offer: onDemand(zoneB), Count: 2}); cloud.KindOf(err) != cloud.Quota {
		t.Errorf("got %v, want it refused for quota", err)
	}
	p.world.Tune(func(o *gcptest.Options) { o.QuotaAtOnce = true })
	before := p.world.Calls()
	if _, err := p.Launch(t.Context(), cloud.Launch{Token: "yet more", Offer: onDemand(zoneB), Count: 5}); cloud.KindOf(err) != cloud.Quota {
		t.Errorf("got %v, want it refused for quota", err)
	}
	if calls := p.world.Calls() - before; calls != 1 {
		t.Errorf("made %d calls, want one: what refuses the first refuses the others", calls)
	}
}

// Launch does not wait longer than its timeout for an operation. The instance is later found by its
// name.
func TestOperationTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := open(t, gcptest.Options{Operation: 10 * time.Minute}, nil)
		l := cloud.Launch{Token: "long", Offer: onDemand(zoneB), Count: 2}
		began := time.Now()
		_, err := p.Launch(t.Context(), l)
		if took := time.Since(began); cloud.KindOf(err) != cloud.Ambiguous || took != 5*time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
		got, err := p.Launch(t.Context(), l)
		if err != nil || len(got) != 2 || len(p.names()) != 2 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// An instance of another owner with the same name is neither adopted nor modified.
func TestNameInUseByOtherOwner(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	id := p.launch(t, "one", 1, onDemand(zoneB))[0].ID
	c := p.clients(t)
	live := p.live()[string(id)]
	labels := maps.Clone(live.Labels)
	labels["det-deploy-pool"] = "other"
	if err := api.Run(t.Context(), c, c.Compute.Instances.SetLabels(c.Project, zoneB, string(id), &compute.InstancesSetLabelsRequest{Labels: labels, LabelFingerprint: live.LabelFingerprint})); err != nil {
		t.Fatal(err)
	}
	other := p.reopen(t, nil)
	_, err := other.Launch(t.Context(), cloud.Launch{Token: "one", Offer: onDemand(zoneB), Count: 1})
	if cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), "an instance named "+string(id)+" exists") {
		t.Errorf("got %v, want a conflict that names %s", err, id)
	}
	if err := other.Terminate(t.Context(), []cloud.InstanceID{id}); err != nil || len(p.names()) != 1 {
		t.Errorf("terminate: got %v and machines %v, want it left", err, p.names())
	}
}

// After a failure of any call, repeating the launch yields the instances of the token and no
// others, and all of them can be terminated.
func TestEveryCallMayFail(t *testing.T) {
	t.Parallel()
	const most = 6 // the calls of a launch and a list, and one more
	for _, fault := range gcptest.Faults() {
		for n := 1; n <= most; n++ {
			t.Run(fmt.Sprintf("%s at %d", fault, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { surviveFault(t, fault, n) })
			})
		}
	}
}

func surviveFault(t *testing.T, fault faults.Fault, n int) {
	t.Helper()
	p := open(t, gcptest.Options{Operation: 2 * time.Second, Provisioning: time.Second, Stopping: 5 * time.Second}, nil)
	l := cloud.Launch{Token: "token", Offer: onDemand(zoneB), Count: 2}
	p.world.FailAt(n, fault)
	first, err := p.Launch(t.Context(), l)
	if _, listErr := p.List(t.Context()); err == nil && len(first) == 0 {
		t.Errorf("got no machine and no error; the list error is %v", listErr)
	}
	p.world.Revive()
	pass(t, 10*time.Second)
	if err == nil && len(first) < l.Count { // some instances failed, as the result shows
		l.Count = len(first)
	} else {
		p = p.reopen(t, nil)
		p.launch(t, l.Token, l.Count, l.Offer)
	}
	pass(t, 10*time.Second)
	got := p.list(t)
	if len(got) != l.Count || len(p.names()) != l.Count {
		t.Errorf("got %v of %v, want %d machines", got, p.names(), l.Count)
	}
	p.world.FailAt(p.world.Calls()+1, fault)
	_ = p.Terminate(t.Context(), ids(got)) // it is expected to fail
	p.world.Revive()
	pass(t, 10*time.Second)
	if err := p.reopen(t, nil).Terminate(t.Context(), ids(got)); err != nil {
		t.Errorf("terminate: %v", err)
	}
	pass(t, 10*time.Second)
	if left := p.world.Live(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
