package fleet

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// launchRequest returns the insert request. It sets all labels and protections in this one call, so
// that no instance exists without them. Other settings take precedence over base_config.
func (f *Fleet) launchRequest(l cloud.Launch, t machinetype.Type, name string) *compute.Instance {
	zone, b := l.Offer.Zone, f.base
	labels := f.cfg.allLabels(b, contentOf(l))
	in := &compute.Instance{
		Name: name, MachineType: f.zonalLink(zone, "machineTypes", t.MachineType), Labels: labels,
		Disks: f.mergeDisks(zone, t, labels), GuestAccelerators: f.accelerators(t, zone), NetworkInterfaces: f.mergeInterfaces(zone),
		Metadata: f.mergeMetadata(l), Tags: f.mergeTags(), ServiceAccounts: mergeAccounts(f.cfg, b), MinCpuPlatform: b.MinCpuPlatform,

		AdvancedMachineFeatures: b.AdvancedMachineFeatures, CanIpForward: b.CanIpForward, ConfidentialInstanceConfig: b.ConfidentialInstanceConfig,
		Description: b.Description, KeyRevocationActionType: b.KeyRevocationActionType, LocalSsdEncryptionMode: b.LocalSsdEncryptionMode,
		NetworkPerformanceConfig: b.NetworkPerformanceConfig, PrivateIpv6GoogleAccess: b.PrivateIpv6GoogleAccess,
		ReservationAffinity: b.ReservationAffinity, ResourcePolicies: b.ResourcePolicies, ShieldedInstanceConfig: b.ShieldedInstanceConfig,
		WorkloadIdentityConfig: b.WorkloadIdentityConfig,
	}
	if len(b.ResourceManagerTags) > 0 {
		in.Params = &compute.InstanceParams{ResourceManagerTags: b.ResourceManagerTags}
	}
	if in.MinCpuPlatform == "" && t.TakesGPUs() {
		in.MinCpuPlatform = "Intel Broadwell" // on an older platform, prebuilt images may lack instructions that they need
	}
	in.Scheduling = mergeScheduling(b.Scheduling, l.Offer.Price, t.BringsGPUs() || len(in.GuestAccelerators) > 0)
	return in
}

// accelerators returns the GPUs to attach: those of the type, or those of base_config if the pool
// configures none.
func (f *Fleet) accelerators(t machinetype.Type, zone string) []*compute.AcceleratorConfig {
	given := f.base.GuestAccelerators
	switch {
	case t.BringsGPUs():
		return nil
	case t.GPUs > 0:
		given = []*compute.AcceleratorConfig{{AcceleratorType: t.GPUType, AcceleratorCount: t.GPUs}}
	}
	var out []*compute.AcceleratorConfig
	for _, a := range given {
		out = append(out, &compute.AcceleratorConfig{AcceleratorType: f.zonalLink(zone, "acceleratorTypes", a.AcceleratorType), AcceleratorCount: a.AcceleratorCount})
	}
	return out
}

// mergeDisks returns the boot disk followed by the disks of base_config, so that the first of these
// is /dev/sdb.
func (f *Fleet) mergeDisks(zone string, t machinetype.Type, labels map[string]string) []*compute.AttachedDisk {
	boot := &compute.AttachedDisk{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{
		SourceImage: f.imageLink(f.cfg.Image), DiskSizeGb: f.cfg.BootDiskGB, Labels: labels,
		DiskType: f.zonalLink(zone, "diskTypes", cmp.Or(f.cfg.BootDiskType, t.BootDiskType())),
	}}
	out := []*compute.AttachedDisk{boot}
	for _, d := range f.base.Disks {
		if d.InitializeParams != nil && d.InitializeParams.DiskType != "" {
			changed, params := *d, *d.InitializeParams
			params.DiskType = f.zonalLink(zone, "diskTypes", params.DiskType)
			changed.InitializeParams, d = &params, &changed
		}
		out = append(out, d)
	}
	return out
}

// mergeInterfaces returns the network interfaces: first the configured one, then those of
// base_config. The first one gets the external address.
func (f *Fleet) mergeInterfaces(zone string) []*compute.NetworkInterface {
	all := slices.Clone(f.base.NetworkInterfaces)
	switch {
	case f.cfg.Network != "":
		all = slices.Insert(all, 0, &compute.NetworkInterface{
			Network:    linkIn("global/networks", f.cfg.Network),
			Subnetwork: linkIn("regions/"+RegionOf(zone)+"/subnetworks", f.cfg.Subnetwork),
		})
	case len(all) == 0:
		all = []*compute.NetworkInterface{{Network: "global/networks/default"}}
	}
	if first := *all[0]; f.cfg.ExternalIP && len(first.AccessConfigs) == 0 {
		first.AccessConfigs = []*compute.AccessConfig{{Type: "ONE_TO_ONE_NAT", Name: "External NAT"}}
		all[0] = &first
	}
	return all
}

// linkIn returns the partial URL of a resource given by its name, or the given URL.
func linkIn(collection, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return path.Join(collection, name)
}

func (f *Fleet) mergeTags() *compute.Tags {
	all := slices.Clone(f.cfg.Tags)
	if f.base.Tags != nil {
		for _, tag := range f.base.Tags.Items {
			if !slices.Contains(all, tag) {
				all = append(all, tag)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &compute.Tags{Items: all}
}

// mergeAccounts returns the configured service account followed by those of base_config. If both
// name the same account, its scopes are combined.
func mergeAccounts(c Config, base *compute.InstanceProperties) []*compute.ServiceAccount {
	if c.Account == "" {
		return base.ServiceAccounts
	}
	own := &compute.ServiceAccount{Email: c.Account, Scopes: slices.Clone(c.Scopes)}
	out := []*compute.ServiceAccount{own}
	for _, a := range base.ServiceAccounts {
		if a.Email != own.Email {
			out = append(out, a)
			continue
		}
		for _, scope := range a.Scopes {
			if !slices.Contains(own.Scopes, scope) {
				own.Scopes = append(own.Scopes, scope)
			}
		}
	}
	return out
}
