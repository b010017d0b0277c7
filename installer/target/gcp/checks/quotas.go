package checks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// quotaCheck compares quotas with the needs of a cluster.
type quotaCheck struct{ *checker }

// part is a number of machines or disks of a cluster.
type part struct {
	facts.Unit

	least, most int
}

// parts returns the machines and disks of the cluster that count against quotas. A pool counts as
// its machine type with the most vCPUs. It is pure.
func (c quotaCheck) parts() []part {
	m := c.Spec.Master
	master := facts.Unit{MachineType: m.MachineType, VCPU: c.Known.Types[m.MachineType].VCPU, Address: true, DiskGB: map[string]int{bootDiskType: m.BootDisk}}
	if m.Disk.Name == "" {
		master.DiskGB[m.Disk.Type] += m.Disk.Size
	}
	out := []part{{master, 1, 1}}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.AllPools())) {
		p := c.Spec.AllPools()[name]
		unit := c.unitOf(p)
		out = append(out, part{unit, max(p.MinAgents, 1), p.MaxAgents})
		if p.Spot && p.FallbackToOnDemand {
			unit.Spot = false
			out = append(out, part{unit, 0, p.MaxAgents})
		}
	}
	return out
}

// bootDiskType is the type of the master's boot disk.
const bootDiskType = "pd-balanced"

// unitOf returns one machine of a pool.
func (c quotaCheck) unitOf(p spec.GCPPool) facts.Unit {
	largest := slices.MaxFunc(p.Machines, func(a, b spec.GCPMachine) int { return c.knownType(a.Type()).VCPU - c.knownType(b.Type()).VCPU })
	t := c.knownType(largest.Type())
	kind := cmp.Or(p.BootDisk.Type, c.Spec.Agents.BootDisk.Type)
	return facts.Unit{
		MachineType: largest.MachineType, VCPU: t.VCPU, GPU: t.GPU, GPUs: t.GPUs, Spot: p.Spot, Address: c.Spec.Network.ExternalIP,
		DiskGB: map[string]int{kind: cmp.Or(p.BootDisk.Size, c.Spec.Agents.BootDisk.Size)},
	}
}

func (c quotaCheck) knownType(t machinetype.Type) machines.Type { return c.Known.Types[t.String()] }

// checkQuotas compares the needs of the cluster with the remaining quotas of the project. It does
// not count the cluster's current usage twice.
func (c quotaCheck) checkQuotas(ctx context.Context) doctor.Result {
	var quotas facts.Quotas
	var own []facts.Unit
	singles := c.singles()
	err := infra.SideBySide(func() (err error) {
		quotas, err = c.facts.Quotas(ctx)
		return err
	}, func() (err error) {
		own, err = c.facts.Own(ctx, c.Spec.Cluster)
		return err
	}, func() error {
		lookForSingles(ctx, singles)
		return nil
	})
	if err != nil {
		return doctor.FromError(err, "the quotas of the project and their usage")
	}
	used := make(facts.Usage)
	for _, u := range own {
		of, _ := quotas.UsageOf(u)
		used.Add(of, 1)
	}
	var v machines.Quotas
	c.weighParts(&v, quotas, used)
	c.weighSingles(&v, quotas, singles)
	return v.Result()
}

func (c quotaCheck) weighParts(v *machines.Quotas, quotas facts.Quotas, used facts.Usage) {
	demands := make(map[string]machines.Demand)
	unpublished := make(map[string]bool)
	for _, p := range c.parts() {
		takes, unknown := quotas.UsageOf(p.Unit)
		for metric, n := range takes {
			demands[metric] = demands[metric].Add(n, p.least, p.most)
		}
		for _, what := range unknown {
			unpublished[what] = true
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(demands)) {
		q := quotas[metric]
		v.Weigh(metric+" in "+q.Where, demands[metric], q.Limit-q.Used+used[metric], c.raiseQuota(metric, q.Limit))
	}
	for _, what := range slices.Sorted(maps.Keys(unpublished)) {
		v.Unknown(fmt.Errorf("Google publishes no quota of %s; see %s", what, facts.QuotasPage(c.Caller.Project))) //nolint:staticcheck // a name begins the sentence
	}
}

// raiseQuota returns the page on which a quota can be raised. A project without any GPUs, as every new one is,
// can run without them in the meantime.
func (c quotaCheck) raiseQuota(metric string, limit int) string {
	page := facts.QuotasPage(c.Caller.Project)
	if limit == 0 && strings.Contains(metric, "GPUS") {
		return page + ", or run without GPUs with --machine n2-standard-8 --cpu-slots"
	}
	return page
}

// single is a resource that the cluster creates once, such as a network, unless it exists.
type single struct {
	metric string
	n      int
	get    func(ctx context.Context) error
	// missing is the error that get returned.
	missing error
}

// lookForSingles calls get for each, concurrently.
func lookForSingles(ctx context.Context, all []single) {
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() { all[i].missing = s.get(ctx) })
	}
	wg.Wait()
}

func (c quotaCheck) singles() []single {
	out := []single{{metric: "STATIC_ADDRESSES", n: 1, get: func(ctx context.Context) error {
		_, err := api.Do(ctx, c.Clients.Compute.Addresses.Get(c.Clients.Project, c.Clients.Region, c.Owner.FullName("master")))
		return err
	}}}
	network := func(ctx context.Context) error {
		_, err := api.Do(ctx, c.Clients.Compute.Networks.Get(c.Clients.Project, c.Owner.FullName("")))
		return err
	}
	n := c.Spec.Network
	if n.Own() {
		out = append(out, single{metric: "NETWORKS", n: 1, get: network}, single{metric: "SUBNETWORKS", n: 1, get: network})
		if n.NAT {
			out = append(out, single{metric: "ROUTERS", n: 1, get: network})
		}
	}
	if n.Firewall == spec.OwnFirewall {
		rules := 2
		if n.SSH {
			rules++
		}
		out = append(out, single{metric: "FIREWALLS", n: rules, get: func(ctx context.Context) error {
			_, err := api.Do(ctx, c.Clients.Compute.Firewalls.Get(c.Clients.Project, c.Owner.FullName("agents")))
			return err
		}})
	}
	return out
}

// weighSingles counts the single resources that do not exist yet.
func (c quotaCheck) weighSingles(v *machines.Quotas, quotas facts.Quotas, singles []single) {
	for _, s := range singles {
		q, published := quotas[s.metric]
		if !published {
			continue
		}
		switch cloud.KindOf(s.missing) {
		case "":
		case cloud.NotFound:
			v.Weigh(s.metric+" in "+q.Where, machines.Demand{Least: s.n, Most: s.n}, q.Limit-q.Used, facts.QuotasPage(c.Caller.Project))
		default:
			v.Unknown(s.missing)
		}
	}
}
