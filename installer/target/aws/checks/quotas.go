package checks

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
)

// demand is how much of a quota a cluster needs.
type demand struct {
	machines.Demand

	quota facts.Quota
}

// vcpuDemands returns the demand of the cluster by vCPU quota. A pool counts as its largest
// instance type. It is pure.
func (c *checker) vcpuDemands() map[string]demand {
	out := map[string]demand{}
	add := func(instanceType string, spot bool, least, most int) {
		q, ok := facts.VCPUQuota(instanceType, spot)
		if !ok {
			return
		}
		out[q.Code] = demand{out[q.Code].Add(c.Known.Types[instanceType].VCPU, least, most), q}
	}
	add(c.Spec.Master.InstanceType, false, 1, 1)
	for _, p := range c.Spec.AllPools() {
		largest := c.Known.Types.Largest(p.InstanceTypes)
		least := max(p.MinAgents, 1)
		add(largest, p.Spot, least, p.MaxAgents)
		if p.Spot && p.FallbackToOnDemand {
			add(largest, false, 0, p.MaxAgents)
		}
	}
	return out
}

// quotaResult is the remainder of a quota, or the reason why it is unknown. It is zero for a resource
// that the cluster already has.
type quotaResult struct {
	demand

	free int
	err  error
}

func (w quotaResult) add(to *machines.Quotas, region string) {
	switch {
	case w.err != nil:
		to.Unknown(w.err)
	case w.quota.Code != "":
		to.Weigh(w.quota.What, w.Demand, w.free, w.quota.Console(region))
	}
}

// checkQuotas compares the needs of the cluster with the remaining quotas of the account. It makes
// all requests concurrently.
func (c *checker) checkQuotas(ctx context.Context) doctor.Result {
	var asked sync.WaitGroup
	running := c.listRunning(ctx, &asked)
	all := c.vcpuDemands()
	codes := slices.Sorted(maps.Keys(all))
	asks := []func() quotaResult{}
	for _, code := range codes {
		asks = append(asks, func() quotaResult { return c.weighVCPUs(ctx, all[code], running) })
	}
	asks = append(asks, func() quotaResult { return c.weighOne(ctx, c.hasAddress, c.facts.Addresses) })
	if c.Spec.Network.Own() {
		asks = append(asks, func() quotaResult { return c.weighOne(ctx, c.hasVPC, c.facts.VPCs) })
	}
	found := make([]quotaResult, len(asks))
	for i, ask := range asks {
		asked.Go(func() { found[i] = ask() })
	}
	asked.Wait()
	if _, err := running(); err != nil {
		return doctor.FromError(err, "the current usage of the quotas")
	}
	var v machines.Quotas
	for _, w := range found {
		w.add(&v, c.Spec.Region)
	}
	return v.Result()
}

// listRunning starts to list the machines of the account. The returned function waits for the list.
func (c *checker) listRunning(ctx context.Context, asked *sync.WaitGroup) func() ([]facts.Machine, error) {
	var all []facts.Machine
	var err error
	listed := make(chan struct{})
	asked.Go(func() {
		defer close(listed)
		all, err = c.facts.Running(ctx)
	})
	return func() ([]facts.Machine, error) {
		<-listed
		return all, err
	}
}

// weighVCPUs returns the remainder of a vCPU quota.
func (c *checker) weighVCPUs(ctx context.Context, d demand, running func() ([]facts.Machine, error)) quotaResult {
	var limit, used int
	err := infra.SideBySide(func() (err error) {
		limit, err = c.facts.Limit(ctx, d.quota)
		return err
	}, func() error {
		machines, err := running()
		if err == nil {
			used, err = c.facts.UsedVCPUs(ctx, machines, d.quota, c.Spec.Cluster)
		}
		return err
	})
	return quotaResult{d, limit - used, err}
}

// weighOne returns the remainder of the quota of a resource that the cluster needs once, unless the
// cluster already has one.
func (c *checker) weighOne(ctx context.Context, has func(context.Context) (bool, error), room func(context.Context) (facts.Room, error)) quotaResult {
	var have bool
	var r facts.Room
	var roomErr error // ignored if the cluster already has one
	err := infra.SideBySide(func() (err error) {
		have, err = has(ctx)
		return err
	}, func() error {
		r, roomErr = room(ctx)
		return nil
	})
	if have || err != nil {
		return quotaResult{err: err}
	}
	return quotaResult{demand{machines.Demand{Least: 1, Most: 1}, r.Quota}, r.Free(), roomErr}
}

func (c *checker) hasAddress(ctx context.Context) (bool, error) {
	f, _, err := infra.Nonced(&network.Address{In: c.Owner, Name: "master"}).Find(ctx)
	return f.Exists(), err
}

func (c *checker) hasVPC(ctx context.Context) (bool, error) {
	f, _, err := infra.Nonced(&network.VPC{In: c.Owner, Name: "main"}).Find(ctx)
	return f.Exists(), err
}

// checkSpot checks for the service-linked role of EC2 Spot. It passes without the role, because the
// plan creates it.
func (c *checker) checkSpot(ctx context.Context) doctor.Result {
	_, err := c.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(identity.SpotRoleName)})
	switch cloud.KindOf(err) {
	case "":
		return doctor.Passed("%s", identity.SpotRoleName)
	case cloud.NotFound:
		return doctor.Passed("the account has never used spot instances; `up` creates the service-linked role %s", identity.SpotRoleName)
	default:
		return doctor.FromError(err, "the service-linked role "+identity.SpotRoleName)
	}
}
