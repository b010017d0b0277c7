package checks

import (
	"context"
	"maps"
	"slices"

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

// demand is what a cluster takes of a quota.
type demand struct {
	machines.Demand

	quota facts.Quota
}

// vcpuDemands is what a cluster needs of each vCPU quota. A pool counts by its largest
// type. It is pure.
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

// checkQuotas compares what the cluster may need with what the account has left.
func (c *checker) checkQuotas(ctx context.Context) doctor.Result {
	running, err := c.facts.Running(ctx)
	if err != nil {
		return doctor.FromError(err, "to know how much of its quotas the account uses")
	}
	var v machines.Quotas
	all := c.vcpuDemands()
	for _, code := range slices.Sorted(maps.Keys(all)) {
		d := all[code]
		limit, err := c.facts.Limit(ctx, d.quota)
		if err != nil {
			v.Unknown(err)
			continue
		}
		used, err := c.facts.UsedVCPUs(ctx, running, d.quota, c.Spec.Cluster)
		if err != nil {
			v.Unknown(err)
			continue
		}
		v.Weigh(d.quota.What, d.Demand, limit-used, d.quota.Console(c.Spec.Region))
	}
	c.countResources(ctx, &v)
	return v.Result()
}

// countResources counts what the cluster takes one of, unless it exists already.
func (c *checker) countResources(ctx context.Context, v *machines.Quotas) {
	one := func(has func(context.Context) (bool, error), room func(context.Context) (facts.Room, error)) {
		have, err := has(ctx)
		if err != nil {
			v.Unknown(err)
			return
		}
		if have {
			return
		}
		r, err := room(ctx)
		if err != nil {
			v.Unknown(err)
			return
		}
		v.Weigh(r.What, machines.Demand{Least: 1, Most: 1}, r.Free(), r.Console(c.Spec.Region))
	}
	one(func(ctx context.Context) (bool, error) {
		f, _, err := infra.Nonced(&network.Address{In: c.Owner, Name: "master"}).Find(ctx)
		return f.Exists(), err
	}, c.facts.Addresses)
	if c.Spec.Network.Own() {
		one(func(ctx context.Context) (bool, error) {
			f, _, err := infra.Nonced(&network.VPC{In: c.Owner, Name: "main"}).Find(ctx)
			return f.Exists(), err
		}, c.facts.VPCs)
	}
}

// checkSpot checks whether EC2 has its role for spot instances. If it does not exist, the
// plan creates it.
func (c *checker) checkSpot(ctx context.Context) doctor.Result {
	_, err := c.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(identity.SpotRoleName)})
	switch cloud.KindOf(err) {
	case "":
		return doctor.Passed("%s", identity.SpotRoleName)
	case cloud.NotFound:
		return doctor.Passed("the account has never used spot instances; `up` makes the service-linked role %s", identity.SpotRoleName)
	default:
		return doctor.FromError(err, "the service-linked role "+identity.SpotRoleName)
	}
}
