// Package checks implements the preflight checks of a cluster on Google Cloud.
package checks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// Subject is the cluster to check.
type Subject struct {
	layout.Layout
	*hosted.Cluster

	Clients api.Clients
	Caller  facts.Caller
	Owner   *mark.Cluster
	Control control.Bucket
	// Placeholder returns stand-ins for resources that have no name yet.
	Placeholder func() (hosted.Live, error)
}

// Access returns the checks of the project's APIs and of the caller's permissions. They use only the
// requested settings, Clients and Caller.
func (s Subject) Access() []doctor.Check {
	c := &checker{s, facts.Facts{Clients: s.Clients}}
	return []doctor.Check{
		{Name: "APIs", Look: c.checkAPIs},
		{Name: "permissions", Look: c.checkPermissions},
	}
}

// List returns the preflight checks of the cluster.
func (s Subject) List() []doctor.Check {
	c := &checker{s, facts.Facts{Clients: s.Clients}}
	out := append([]doctor.Check{{Name: "identity", Look: c.checkIdentity}, {Name: "clock", Look: c.checkClock}}, s.Access()...)
	out = append(out, s.Checks()...)
	out = append(out, []doctor.Check{
		{Name: "names", Look: c.checkNames},
		{Name: "configuration", Look: func(context.Context) doctor.Result { return c.CheckConfiguration(c.Placeholder()) }},
		{Name: "machine types", Look: c.checkTypes},
		{Name: "images", Look: c.checkImages},
		{Name: "GPU drivers", Look: c.checkDrivers},
		{Name: "quotas", Look: quotaCheck{c}.checkQuotas},
		{Name: "organization policies", Look: c.checkConstraints},
		{Name: "network", Look: c.checkNetwork},
	}...)
	firewall := c.checkOverriding
	if s.Spec.Network.Firewall == spec.ExistingFirewall {
		firewall = c.checkFirewall
	}
	out = append(out, doctor.Check{Name: "firewall rules", Look: firewall, Plan: true})
	out = append(out, c.baseConfigChecks()...)
	return append(out, c.existingChecks()...)
}

// checker implements the checks.
type checker struct {
	Subject

	facts facts.Facts
}

func (c *checker) checkIdentity(context.Context) doctor.Result {
	if c.Caller.Identity == "" {
		return doctor.Passed("credentials without a name, in project %s (%d)", c.Caller.Project, c.Caller.Number)
	}
	return doctor.Passed("%s in project %s (%d)", c.Caller.Identity, c.Caller.Project, c.Caller.Number)
}

func (c *checker) checkClock(ctx context.Context) doctor.Result {
	const needed = "a clock within 5 minutes of Google, which otherwise rejects tokens"
	theirs, err := c.facts.Clock(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if theirs.IsZero() {
		return doctor.Unsure("the response of Google has no time", needed, "")
	}
	return doctor.Clock(c.Now(), theirs, "Google", needed)
}

// checkNames checks that the name of the cluster's bucket is not taken by another project. No
// cluster ID makes a name too long.
func (c *checker) checkNames(ctx context.Context) doctor.Result {
	const needed = "a control bucket that belongs to the project: bucket names are shared by all projects"
	_, err := c.Control.Get(ctx, "record.json")
	switch cloud.KindOf(err) {
	case "":
		return doctor.Passed("bucket %s is this cluster's", c.Control.Name)
	case cloud.NotFound:
		return doctor.Passed("bucket %s", c.Control.Name)
	case cloud.Denied:
		r := doctor.FromError(err, needed)
		r.Answer = doctor.Fail
		return r
	default:
		return doctor.FromError(err, needed)
	}
}

// checkTypes compares the requested machine types with those offered in each zone, and their GPUs
// with those that the types support.
func (c *checker) checkTypes(ctx context.Context) doctor.Result {
	if wrong := c.wrongGPUs(); len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), "GPUs that Google offers, in numbers that the machine types support",
			"choose others with --machine; `gcloud compute accelerator-types list` lists them by zone")
	}
	if wrong := c.wrongDisks(); len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), "disk types that the machines support",
			"choose others with --agent-boot-disk-type and --data-disk-type, or other machines with --machine, --aux-machine or --master-machine-type")
	}
	w := machines.Wanted{
		Types: c.Known.Types, Master: c.Spec.Master.MachineType, MasterZone: c.Known.Master.Zone,
		Pools: map[string]machines.Pool{}, Exists: c.Exists,
		Fix: "choose others with --machine, --aux-machine or --master-machine-type, or other zones with --pool-zone and --zone",
	}
	for name, p := range c.Spec.AllPools() {
		w.Pools[name] = machines.Pool{Types: layout.TypesOf(p), Zones: c.PoolZones(p), Slots: c.SlotsOf(p), CPUSlots: p.CPUSlots}
	}
	return w.Check(ctx)
}

// wrongDisks lists the disk types that a machine does not support.
func (c *checker) wrongDisks() []string {
	var out []string
	check := func(who string, t machinetype.Type, kind string) {
		if !t.BootsFrom(kind) {
			out = append(out, fmt.Sprintf("%s: %s does not support disks of type %s, only %s", who, t.MachineType, kind, t.BootDiskType()))
		}
	}
	m := c.Spec.Master
	master := machinetype.Type{MachineType: m.MachineType}
	check("the master", master, bootDiskType)
	if m.Disk.Name == "" && m.Disk.Type != bootDiskType {
		check("the master", master, m.Disk.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.AllPools())) {
		p := c.Spec.AllPools()[name]
		for _, one := range p.Machines {
			check("pool "+name, one.Type(), cmp.Or(p.BootDisk.Type, c.Spec.Agents.BootDisk.Type))
		}
	}
	return out
}

// wrongGPUs lists GPUs that Google no longer offers, and GPU counts that a machine type does not
// support.
func (c *checker) wrongGPUs() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Spec.AllPools())) {
		for _, m := range c.Spec.AllPools()[name].Machines {
			t := m.Type()
			switch err := facts.CheckGPUs(t, c.Known.Types[t.String()].VCPU); {
			case facts.Withdrawn(t.GPUType):
				out = append(out, fmt.Sprintf("pool %s: %s is not offered in any zone: Google has withdrawn it", name, t.GPUType))
			case err != nil:
				out = append(out, fmt.Sprintf("pool %s: %v", name, err))
			}
		}
	}
	return out
}
