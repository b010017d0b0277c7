package gcptest_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/compute/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// settle waits for a zonal operation and returns its error code.
func (c clients) settle(t *testing.T, o *compute.Operation, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for o.Status != "DONE" {
		switch {
		case o.Zone != "":
			o, err = c.compute.ZoneOperations.Wait(project, last(o.Zone), o.Name).Do()
		case o.Region != "":
			o, err = c.compute.RegionOperations.Wait(project, last(o.Region), o.Name).Do()
		default:
			o, err = c.compute.GlobalOperations.Wait(project, o.Name).Do()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if o.Error != nil {
		return o.Error.Errors[0].Code
	}
	return ""
}

func last(link string) string { return link[strings.LastIndexByte(link, '/')+1:] }

func (c clients) done(t *testing.T) func(*compute.Operation, error) {
	return func(o *compute.Operation, err error) {
		t.Helper()
		if code := c.settle(t, o, err); code != "" {
			t.Errorf("the operation ended with %s", code)
		}
	}
}

// launch returns an insert request, modified by f.
func launch(name string, f func(*compute.Instance)) *compute.Instance {
	in := &compute.Instance{
		Name: name, MachineType: "zones/" + zoneB + "/machineTypes/n2-standard-2", Labels: map[string]string{"det-deploy-cluster": "lab"},
		Disks:             []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageUbuntu, DiskSizeGb: 100}}},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default", AccessConfigs: []*compute.AccessConfig{{Type: "ONE_TO_ONE_NAT"}}}},
	}
	if f != nil {
		f(in)
	}
	return in
}

func (c clients) status(t *testing.T, name string) string {
	t.Helper()
	return made[*compute.Instance](t)(c.compute.Instances.Get(project, zoneB, name).Do()).Status
}

func TestInstanceLifecycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := newWorld(t, gcptest.Options{Operation: 10 * time.Second, Provisioning: 3 * time.Second, Staging: 5 * time.Second, Stopping: 20 * time.Second})
		o, err := c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"PROVISIONING", "STAGING", "RUNNING"} {
			if got := c.status(t, "one"); got != want {
				t.Errorf("is %s, want %s", got, want)
			}
			pass(t, 4*time.Second)
		}
		c.done(t)(o, nil)
		m := made[*compute.Instance](t)(c.compute.Instances.Get(project, zoneB, "one").Do())
		if m.NetworkInterfaces[0].NetworkIP == "" || m.NetworkInterfaces[0].AccessConfigs[0].NatIP == "" || m.Id == 0 {
			t.Errorf("got %+v", m)
		}
		began := time.Now()
		c.done(t)(c.compute.Instances.Delete(project, zoneB, "one").Do())
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("was deleted in %v", took)
		}
		_, err = c.compute.Instances.Get(project, zoneB, "one").Do()
		wantStatus(t, err, 404, "notFound")
		_, err = c.compute.Disks.Get(project, zoneB, "one").Do()
		wantStatus(t, err, 404, "notFound")
	})
}

// A stockout is an error of the operation, and no object remains.
func TestStockoutIsOperationError(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	w.StockOut(zoneB, "n2-standard-2", 1)
	w.StockOutWithDetails("us-west1-a", "", -1)
	if code := c.settle(t, made[*compute.Operation](t)(c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do()), nil); code != "ZONE_RESOURCE_POOL_EXHAUSTED" {
		t.Errorf("ended with %q", code)
	}
	_, err := c.compute.Instances.Get(project, zoneB, "one").Do()
	wantStatus(t, err, 404, "notFound")
	_, err = c.compute.Disks.Get(project, zoneB, "one").Do()
	wantStatus(t, err, 404, "notFound")
	c.done(t)(c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do())
	o := made[*compute.Operation](t)(c.compute.Instances.Insert(project, "us-west1-a", launch("two", func(i *compute.Instance) {
		i.MachineType = "zones/us-west1-a/machineTypes/n2-standard-2"
	})).Do())
	if code := c.settle(t, o, nil); code != "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS" {
		t.Errorf("ended with %q", code)
	}
}

func TestQuotasAreInTheOperation(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	w.SetQuota(project, "NVIDIA_T4_GPUS", 3)
	gpus := func(name string) *compute.Instance {
		return launch(name, func(i *compute.Instance) {
			i.MachineType = "zones/" + zoneB + "/machineTypes/n1-standard-8"
			i.GuestAccelerators = []*compute.AcceleratorConfig{{AcceleratorType: "zones/" + zoneB + "/acceleratorTypes/nvidia-tesla-t4", AcceleratorCount: 2}}
			i.Scheduling = &compute.Scheduling{OnHostMaintenance: "TERMINATE"}
		})
	}
	c.done(t)(c.compute.Instances.Insert(project, zoneB, gpus("one")).Do())
	o := made[*compute.Operation](t)(c.compute.Instances.Insert(project, zoneB, gpus("two")).Do())
	if code := c.settle(t, o, nil); code != "QUOTA_EXCEEDED" {
		t.Errorf("ended with %q", code)
	}
	w.Tune(func(o *gcptest.Options) { o.QuotaAtOnce = true })
	_, err := c.compute.Instances.Insert(project, zoneB, gpus("two")).Do()
	wantStatus(t, err, 403, "quotaExceeded")
	r := made[*compute.Region](t)(c.compute.Regions.Get(project, region).Do())
	i := slices.IndexFunc(r.Quotas, func(q *compute.Quota) bool { return q.Metric == "NVIDIA_T4_GPUS" })
	if r.Quotas[i].Limit != 3 || r.Quotas[i].Usage != 2 {
		t.Errorf("got %+v", r.Quotas[i])
	}
}

func TestFaultsOfOperations(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	const id = "0d2a9e0c-7a55-4f0c-8a5e-2f9f4d1f4b7a"
	w.FailOp("compute.instances.insert", gcptest.FailOperation, gcptest.ForgetOperation)
	o := made[*compute.Operation](t)(c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do())
	if code := c.settle(t, o, nil); code != "INTERNAL_ERROR" {
		t.Errorf("ended with %q", code)
	}
	_, err := c.compute.Instances.Get(project, zoneB, "one").Do()
	wantStatus(t, err, 404, "notFound")
	o = made[*compute.Operation](t)(c.compute.Instances.Insert(project, zoneB, launch("two", nil)).Do())
	_, err = c.compute.ZoneOperations.Wait(project, zoneB, o.Name).Do()
	wantStatus(t, err, 404, "notFound")
	if got := c.status(t, "two"); got != "RUNNING" {
		t.Errorf("is %s", got)
	}
	w.FailOp("compute.instances.insert", gcptest.LoseReplyOnce)
	_, err = c.compute.Instances.Insert(project, zoneB, launch("three", nil)).RequestId(id).Do()
	if err == nil {
		t.Error("the reply was not lost")
	}
	c.done(t)(c.compute.Instances.Insert(project, zoneB, launch("three", nil)).RequestId(id).Do())
	_, err = c.compute.Instances.Insert(project, zoneB, launch("three", nil)).Do()
	wantStatus(t, err, 409, "alreadyExists")
	_, err = c.compute.Instances.Insert(project, zoneB, launch("four", nil)).RequestId("again").Do()
	wantStatus(t, err, 400, "invalid")
}

func TestObjectsInUseCannotBeDeleted(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		_, c := newWorld(t, gcptest.Options{InUseLater: later})
		c.done(t)(c.compute.Networks.Insert(project, &compute.Network{Name: "det-lab", ForceSendFields: []string{"AutoCreateSubnetworks"}}).Do())
		c.done(t)(c.compute.Subnetworks.Insert(project, region, &compute.Subnetwork{Name: "det-lab", Network: "global/networks/det-lab", IpCidrRange: "10.0.0.0/22"}).Do())
		_, err := c.compute.Subnetworks.Insert(project, region, &compute.Subnetwork{Name: "det-lab-2", Network: "global/networks/det-lab", IpCidrRange: "10.0.2.0/24"}).Do()
		wantStatus(t, err, 400, "invalid")
		o, err := c.compute.Networks.Delete(project, "det-lab").Do()
		if !later {
			wantStatus(t, err, 400, "resourceInUseByAnotherResource")
		} else if code := c.settle(t, o, err); code != "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE" {
			t.Errorf("ended with %q", code)
		}
		c.done(t)(c.compute.Subnetworks.Delete(project, region, "det-lab").Do())
		c.done(t)(c.compute.Networks.Delete(project, "det-lab").Do())
	}
}

// An aggregated list omits an unreachable zone and contains a warning.
func TestAggregatedListWithUnreachableZone(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.done(t)(c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do())
	w.Unreachable(zoneB)
	l := made[*compute.InstanceAggregatedList](t)(c.compute.Instances.AggregatedList(project).Do())
	if got := l.Items["zones/"+zoneB]; got.Warning == nil || got.Warning.Code != "UNREACHABLE" || len(l.Unreachables) != 1 {
		t.Errorf("got %+v, %v", got, l.Unreachables)
	}
	w.Unreachable()
	l = made[*compute.InstanceAggregatedList](t)(c.compute.Instances.AggregatedList(project).Filter("labels.det-deploy-cluster=lab").Do())
	if len(l.Items["zones/"+zoneB].Instances) != 1 {
		t.Errorf("got %+v", l.Items)
	}
	l = made[*compute.InstanceAggregatedList](t)(c.compute.Instances.AggregatedList(project).Filter("labels.det-deploy-cluster=lab-2").Do())
	if len(l.Items["zones/"+zoneB].Instances) != 0 {
		t.Errorf("got %+v", l.Items)
	}
}

func TestSpotPreemption(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.done(t)(c.compute.Instances.Insert(project, zoneB, launch("spot", func(i *compute.Instance) {
		i.Scheduling = &compute.Scheduling{ProvisioningModel: "SPOT", InstanceTerminationAction: "STOP"}
	})).Do())
	w.Preempt(project, zoneB, "spot")
	if got := c.status(t, "spot"); got != "TERMINATED" {
		t.Errorf("is %s", got)
	}
	o := made[*compute.OperationList](t)(c.compute.ZoneOperations.List(project, zoneB).Filter("operationType=compute.instances.preempted").Do())
	if len(o.Items) != 1 || last(o.Items[0].TargetLink) != "spot" {
		t.Errorf("got %+v", o.Items)
	}
}

func TestLabelsAndMetadataHaveFingerprints(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.done(t)(c.compute.Instances.Insert(project, zoneB, launch("one", nil)).Do())
	m := made[*compute.Instance](t)(c.compute.Instances.Get(project, zoneB, "one").Do())
	labels := &compute.InstancesSetLabelsRequest{Labels: map[string]string{"a": "b"}, LabelFingerprint: m.LabelFingerprint}
	c.done(t)(c.compute.Instances.SetLabels(project, zoneB, "one", labels).Do())
	_, err := c.compute.Instances.SetLabels(project, zoneB, "one", labels).Do()
	wantStatus(t, err, 412, "conditionNotMet")
	on := "TRUE"
	md := &compute.Metadata{Fingerprint: m.Metadata.Fingerprint, Items: []*compute.MetadataItems{{Key: "enable-guest-attributes", Value: &on}}}
	c.done(t)(c.compute.Instances.SetMetadata(project, zoneB, "one", md).Do())
	_, err = c.compute.Instances.SetMetadata(project, zoneB, "one", md).Do()
	wantStatus(t, err, 412, "conditionNotMet")
	w.SetGuestAttribute(project, zoneB, "one", "det-deploy/proof", "yes")
	g := made[*compute.GuestAttributes](t)(c.compute.Instances.GetGuestAttributes(project, zoneB, "one").QueryPath("det-deploy/").Do())
	if len(g.QueryValue.Items) != 1 || g.QueryValue.Items[0].Value != "yes" {
		t.Errorf("got %+v", g.QueryValue)
	}
	w.WriteConsole(project, zoneB, "one", "hello\n")
	s := made[*compute.SerialPortOutput](t)(c.compute.Instances.GetSerialPortOutput(project, zoneB, "one").Do())
	if s.Contents != "hello\n" || s.Next != 6 {
		t.Errorf("got %+v", s)
	}
	c.done(t)(c.compute.Instances.SetDeletionProtection(project, zoneB, "one").DeletionProtection(true).Do())
	_, err = c.compute.Instances.Delete(project, zoneB, "one").Do()
	wantStatus(t, err, 400, "invalidUsage")
	c.done(t)(c.compute.Instances.SetDeletionProtection(project, zoneB, "one").DeletionProtection(false).Do())
	c.done(t)(c.compute.Instances.Stop(project, zoneB, "one").Do())
	c.done(t)(c.compute.Instances.Start(project, zoneB, "one").Do())
	c.done(t)(c.compute.Disks.CreateSnapshot(project, zoneB, "one", &compute.Snapshot{Name: "before", Labels: map[string]string{"a": "b"}}).Do())
	c.done(t)(c.compute.Instances.Delete(project, zoneB, "one").Do())
}

// A patch merges objects and replaces arrays: a rule changed from SSH to ICMP keeps no ports.
func TestPatchReplacesArrays(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	c.done(t)(c.compute.Firewalls.Insert(project, &compute.Firewall{
		Name: "rule", Description: "mine", SourceRanges: []string{"10.0.0.0/8", "192.0.2.0/24"}, SourceTags: []string{"office"},
		Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"22"}}, {IPProtocol: "udp"}},
	}).Do())
	c.done(t)(c.compute.Firewalls.Patch(project, "rule", &compute.Firewall{
		SourceRanges: []string{"192.0.2.0/24"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "icmp"}}, NullFields: []string{"SourceTags"},
	}).Do())
	got := made[*compute.Firewall](t)(c.compute.Firewalls.Get(project, "rule").Do())
	if len(got.Allowed) != 1 || got.Allowed[0].IPProtocol != "icmp" || len(got.Allowed[0].Ports) > 0 {
		t.Errorf("got allowed %+v, want ping alone", got.Allowed[0])
	}
	if !slices.Equal(got.SourceRanges, []string{"192.0.2.0/24"}) || len(got.SourceTags) > 0 || got.Description != "mine" {
		t.Errorf("got %+v, want the other fields unchanged", got)
	}
}

func TestFilterRequiresParentheses(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	for _, filter := range []string{"labels.a=b AND labels.c=d", "labels.a=b labels.c=d", "(labels.a=b) labels.c=d", "labels.a=b OR (labels.c=d)", "(labels.a=b) AND labels.c=d"} {
		_, err := c.compute.Instances.AggregatedList(project).Filter(filter).Do()
		wantStatus(t, err, 400, "invalid")
	}
	for _, filter := range []string{"labels.a=b", "(labels.a=b)", "(labels.a=b) AND (labels.c=d)", "(labels.a=b) (labels.c=d)"} {
		made[*compute.InstanceAggregatedList](t)(c.compute.Instances.AggregatedList(project).Filter(filter).Do())
	}
}
