package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestUsageOf(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	q, err := of(t, w).Quotas(t.Context())
	must(t, err)
	w.SetQuota(gcptest.Project, "PREEMPTIBLE_CPUS", 0)
	w.SetQuota(gcptest.Project, "PREEMPTIBLE_NVIDIA_T4_GPUS", 0)
	without, err := of(t, w).Quotas(t.Context())
	must(t, err)
	t4 := facts.Unit{MachineType: "n1-standard-8", VCPU: 8, GPU: "nvidia-tesla-t4", GPUs: 2, Spot: true}
	for _, tc := range []struct {
		name    string
		q       facts.Quotas
		u       facts.Unit
		want    facts.Usage
		unknown []string
	}{
		{
			"the master", q,
			facts.Unit{MachineType: "n2-standard-2", VCPU: 2, Address: true, DiskGB: map[string]int{"pd-balanced": 150}},
			facts.Usage{"INSTANCES": 1, "N2_CPUS": 2, "CPUS_ALL_REGIONS": 2, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 150},
			nil,
		},
		{"spot with a separate quota", q, t4, facts.Usage{"INSTANCES": 1, "PREEMPTIBLE_CPUS": 8, "CPUS_ALL_REGIONS": 8, "PREEMPTIBLE_NVIDIA_T4_GPUS": 2, "GPUS_ALL_REGIONS": 2}, nil},
		{"spot without", without, t4, facts.Usage{"INSTANCES": 1, "CPUS": 8, "CPUS_ALL_REGIONS": 8, "NVIDIA_T4_GPUS": 2, "GPUS_ALL_REGIONS": 2}, nil},
		{
			"GPUs that count for the vCPUs", q,
			facts.Unit{MachineType: "g2-standard-4", VCPU: 4, GPU: "nvidia-l4", GPUs: 1},
			facts.Usage{"INSTANCES": 1, "CPUS_ALL_REGIONS": 4, "NVIDIA_L4_GPUS": 1, "GPUS_ALL_REGIONS": 1},
			nil,
		},
		{
			"a quota that Google does not publish", q,
			facts.Unit{MachineType: "a3-highgpu-8g", VCPU: 208, GPU: "nvidia-h100-80gb", GPUs: 8},
			facts.Usage{"INSTANCES": 1, "CPUS_ALL_REGIONS": 208, "GPUS_ALL_REGIONS": 8},
			[]string{"on-demand nvidia-h100-80gb"},
		},
		{
			"another family", q,
			facts.Unit{MachineType: "c4-standard-8", VCPU: 8, DiskGB: map[string]int{"hyperdisk-balanced": 100, "pd-standard": 10}},
			facts.Usage{"INSTANCES": 1, "CPUS_ALL_REGIONS": 8, "DISKS_TOTAL_GB": 10},
			[]string{"on-demand vCPUs of c4", "GB of hyperdisk-balanced"},
		},
	} {
		got, unknown := tc.q.UsageOf(tc.u)
		if diff := cmp.Diff(got, tc.want) + cmp.Diff(unknown, tc.unknown); diff != "" {
			t.Errorf("%s (-got +want):\n%s", tc.name, diff)
		}
	}
}

func TestMetricsOfGPUs(t *testing.T) {
	t.Parallel()
	for gpu, want := range map[string]string{
		"nvidia-tesla-t4": "NVIDIA_T4_GPUS", "nvidia-tesla-a100": "NVIDIA_A100_GPUS", "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
		"nvidia-l4": "NVIDIA_L4_GPUS", "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
	} {
		if got := facts.GPUMetric(gpu); got != want {
			t.Errorf("%s: got %s, want %s", gpu, got, want)
		}
	}
}

// Google's usage numbers include the cluster's own usage, which can be determined.
func TestOwnUsage(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{IgnoreFilters: true}))
	const zone = "projects/" + gcptest.Project + "/zones/us-central1-b/"
	insert := func(name, cluster string) {
		must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Instances.Insert(f.Clients.Project, "us-central1-b", &compute.Instance{
			Name: name, MachineType: zone + "machineTypes/n1-standard-8", Labels: map[string]string{"det-deploy-cluster": cluster},
			Disks: []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{
				SourceImage: gcptest.ImageDebian, DiskSizeGb: 200, DiskType: zone + "diskTypes/pd-balanced",
			}}},
			GuestAccelerators: []*compute.AcceleratorConfig{{AcceleratorType: zone + "acceleratorTypes/nvidia-tesla-t4", AcceleratorCount: 2}},
			Scheduling:        &compute.Scheduling{OnHostMaintenance: "TERMINATE"},
			NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default", AccessConfigs: []*compute.AccessConfig{{}}}},
		})))
	}
	insert("a", "lab")
	insert("b", "lab-2")
	insert("off", "lab")
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Instances.Stop(f.Clients.Project, "us-central1-b", "off")))
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Disks.Insert(f.Clients.Project, "europe-west4-a", &compute.Disk{
		Name: "far", SizeGb: 500, Labels: map[string]string{"det-deploy-cluster": "lab"}, Type: "projects/" + gcptest.Project + "/zones/europe-west4-a/diskTypes/pd-balanced",
	})))
	all, err := f.Own(t.Context(), "lab")
	must(t, err)
	q, err := f.Quotas(t.Context())
	must(t, err)
	got := make(facts.Usage)
	for _, u := range all {
		used, unknown := q.UsageOf(u)
		got.Add(used, 1)
		if len(unknown) > 0 {
			t.Errorf("got %v without a quota", unknown)
		}
	}
	want := facts.Usage{"INSTANCES": 1, "CPUS": 8, "CPUS_ALL_REGIONS": 8, "NVIDIA_T4_GPUS": 2, "GPUS_ALL_REGIONS": 2, "IN_USE_ADDRESSES": 1, "SSD_TOTAL_GB": 400}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for metric, n := range want {
		if metric != "INSTANCES" && q[metric].Used < n {
			t.Errorf("%s: got %d used, want at least %d", metric, q[metric].Used, n)
		}
	}
}
