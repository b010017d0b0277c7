package facts

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Quota is a quota of the region or the project.
type Quota struct {
	// Metric is Google's name: "NVIDIA_T4_GPUS".
	Metric string
	// Where is the region, or "all regions".
	Where       string
	Limit, Used int
}

// Quotas holds the quotas that the Compute Engine API returns, by metric.
type Quotas map[string]Quota

// Quotas returns the quotas of the region and the project.
func (f Facts) Quotas(ctx context.Context) (Quotas, error) {
	var r *compute.Region
	var p *compute.Project
	err := infra.SideBySide(func() (err error) {
		r, err = api.Do(ctx, f.Clients.Compute.Regions.Get(f.Clients.Project, f.Clients.Region))
		return err
	}, func() (err error) {
		p, err = api.Do(ctx, f.Clients.Compute.Projects.Get(f.Clients.Project))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the quotas of %s in project %s: %w", f.Clients.Region, f.Clients.Project, err)
	}
	out := make(Quotas)
	out.add("all regions", p.Quotas)
	out.add(f.Clients.Region, r.Quotas)
	return out, nil
}

func (q Quotas) add(where string, all []*compute.Quota) {
	for _, l := range all {
		q[l.Metric] = Quota{l.Metric, where, int(l.Limit), int(l.Usage)}
	}
}

// QuotasPage returns the URL of the page for requesting an increase.
func QuotasPage(project string) string {
	return "https://console.cloud.google.com/iam-admin/quotas?project=" + project
}

// Unit is an instance, a disk, or both, for the calculation of quotas.
type Unit struct {
	MachineType string
	VCPU        int
	GPU         string
	GPUs        int
	Spot        bool
	// Address reports whether it has an external address.
	Address bool
	// DiskGB is the disk size in GB by disk type.
	DiskGB map[string]int
}

// Usage is the usage of quotas by metric.
type Usage map[string]int

// Add adds the usage of several units.
func (u Usage) Add(of Usage, times int) {
	for metric, n := range of {
		u[metric] += n * times
	}
}

// UsageOf returns the quotas that a unit counts against. Unpublished describes those that the API
// does not return.
func (q Quotas) UsageOf(u Unit) (out Usage, unpublished []string) {
	out = make(Usage)
	add := func(n int, what string, metrics ...string) {
		if n == 0 {
			return
		}
		for _, m := range metrics {
			if l, found := q[m]; found && (l.Limit > 0 || !strings.HasPrefix(m, preemptible)) {
				out[m] += n
				return
			}
		}
		unpublished = append(unpublished, what)
	}
	if u.MachineType != "" {
		add(1, "machines", "INSTANCES")
		q.addVCPUs(u, add)
	}
	if u.GPUs > 0 {
		metric := GPUMetric(u.GPU)
		add(u.GPUs, purchase(u.Spot)+" "+u.GPU, ofPurchase(u.Spot, metric)...)
		add(u.GPUs, "GPUs of all regions", "GPUS_ALL_REGIONS")
	}
	if u.Address {
		add(1, "external addresses", "IN_USE_ADDRESSES")
	}
	for _, kind := range slices.Sorted(maps.Keys(u.DiskGB)) {
		add(u.DiskGB[kind], "GB of "+kind, diskMetric(kind))
	}
	return out, unpublished
}

// preemptible is the prefix of the metrics for Spot VMs. Without such a quota, Spot VMs count
// against the standard one.
const preemptible = "PREEMPTIBLE_"

func ofPurchase(spot bool, metric string) []string {
	if spot {
		return []string{preemptible + metric, metric}
	}
	return []string{metric}
}

func purchase(spot bool) string {
	if spot {
		return "spot"
	}
	return "on-demand"
}

// addVCPUs adds the vCPUs of a machine. Most families have their own quota, the oldest share one,
// and machine types that include GPUs may count against their GPU quota only.
func (q Quotas) addVCPUs(u Unit, add func(n int, what string, metrics ...string)) {
	t := machinetype.Type{MachineType: u.MachineType}
	metric := strings.ToUpper(t.Family()) + "_CPUS"
	if slices.Contains([]string{"n1", "e2", "f1", "g1"}, t.Family()) {
		metric = "CPUS"
	}
	metrics := []string{metric}
	if u.Spot {
		metrics = []string{preemptible + "CPUS", metric}
	}
	if _, published := q[metric]; published || !t.BringsGPUs() {
		add(u.VCPU, purchase(u.Spot)+" vCPUs of "+t.Family(), metrics...)
	}
	if _, published := q["CPUS_ALL_REGIONS"]; published {
		add(u.VCPU, "", "CPUS_ALL_REGIONS")
	}
}

// GPUMetric returns the quota metric of a GPU type: "NVIDIA_T4_GPUS" for "nvidia-tesla-t4".
func GPUMetric(gpu string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(gpu, "nvidia-"), "tesla-")
	if short, isH100 := strings.CutSuffix(name, "-80gb"); isH100 && short == "h100" {
		name = short
	}
	return "NVIDIA_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_GPUS"
}

func diskMetric(kind string) string {
	switch kind {
	case "pd-standard":
		return "DISKS_TOTAL_GB"
	case "pd-balanced", "pd-ssd":
		return "SSD_TOTAL_GB"
	case "hyperdisk-balanced":
		return "HDB_TOTAL_GB"
	}
	return strings.ToUpper(strings.ReplaceAll(kind, "-", "_")) + "_TOTAL_GB"
}

// Own returns the instances and disks of a cluster in the region.
func (f Facts) Own(ctx context.Context, cluster string) ([]Unit, error) {
	var all []*compute.Instance
	var disks []*compute.Disk
	err := infra.SideBySide(func() (err error) {
		all, err = f.Clients.ListInstances(ctx, "labels."+clusterLabel+"="+cluster)
		return err
	}, func() (err error) {
		disks, err = f.Clients.ListDisks(ctx, "")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the cluster's machines and disks: %w", err)
	}
	var out []Unit
	own := make(map[string]bool)
	for _, m := range all {
		if m.Labels[clusterLabel] != cluster || regionOf(path.Base(m.Zone)) != f.Clients.Region {
			continue
		}
		own[linkPath(m.SelfLink)] = true
		if holdsQuota(m.Status) {
			out = append(out, unitOf(m))
		}
	}
	if err := f.addVCPUs(ctx, all, out); err != nil {
		return nil, err
	}
	return append(out, f.ownDisks(disks, cluster, own)...), nil
}

// holdsQuota reports whether an instance of a status counts against quotas. Stopped instances do
// not.
func holdsQuota(status string) bool {
	return !slices.Contains([]string{"STOPPED", "TERMINATED", "SUSPENDED"}, status)
}

func unitOf(m *compute.Instance) Unit {
	u := Unit{MachineType: path.Base(m.MachineType), Spot: m.Scheduling != nil && m.Scheduling.ProvisioningModel == "SPOT"}
	for _, a := range m.GuestAccelerators {
		u.GPU, u.GPUs = path.Base(a.AcceleratorType), u.GPUs+int(a.AcceleratorCount)
	}
	for _, nic := range m.NetworkInterfaces {
		u.Address = u.Address || len(nic.AccessConfigs) > 0
	}
	return u
}

// addVCPUs sets the vCPUs of units from the machine types of their instances in their zones.
func (f Facts) addVCPUs(ctx context.Context, live []*compute.Instance, units []Unit) error {
	var zones []string
	var wanted []machinetype.Type
	for _, m := range live {
		zones = append(zones, path.Base(m.Zone))
	}
	for _, u := range units {
		wanted = append(wanted, machinetype.Type{MachineType: u.MachineType})
	}
	if len(wanted) == 0 {
		return nil
	}
	slices.Sort(zones)
	known, err := f.Types(ctx, slices.Compact(zones), wanted...)
	for i := range units {
		units[i].VCPU = known[units[i].MachineType].VCPU
	}
	return err
}

// ownDisks returns the disks of a cluster and of its instances.
func (f Facts) ownDisks(all []*compute.Disk, cluster string, machines map[string]bool) []Unit {
	var out []Unit
	for _, d := range all {
		used := slices.ContainsFunc(d.Users, func(by string) bool { return machines[linkPath(by)] })
		if d.Zone != "" && regionOf(path.Base(d.Zone)) == f.Clients.Region && (used || d.Labels[clusterLabel] == cluster) {
			out = append(out, Unit{DiskGB: map[string]int{path.Base(d.Type): int(d.SizeGb)}})
		}
	}
	return out
}
