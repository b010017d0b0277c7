package network

import (
	"context"
	"path"
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// natName is what the translation is called in the router, which may have others.
const natName = "nat"

// Router lets machines without an address of their own reach the internet (Cloud NAT).
type Router struct {
	In      *owner.Cluster
	Network infra.Ref

	infra.Learned
}

// ID is "gcp/router/nat".
func (*Router) ID() string { return owner.ResourceID(owner.KindRouter, natName) }

// Define says what is wanted.
func (r *Router) Define() infra.Definition[*compute.Router] {
	d := owner.Define(r.In, Routers(r.In), natName, &r.Learned, r.Network)
	d.Create = func(ctx context.Context, _ string) error {
		name := r.In.FullName(natName)
		return owner.Insert(ctx, r.In, r.Define(), name, func() error {
			return r.In.Clients.Routers.Insert(ctx, &compute.Router{
				Name: name, Description: r.In.Description("way to the internet"), Network: r.In.NetworkLink(r.Network), Nats: []*compute.RouterNat{wantedNAT()},
			})
		})
	}
	d.Compare = func(_ context.Context, live *compute.Router) ([]resource.Drift, error) {
		has := slices.ContainsFunc(live.Nats, func(n *compute.RouterNat) bool {
			return n.SourceSubnetworkIpRangesToNat == wantedNAT().SourceSubnetworkIpRangesToNat
		})
		return infra.Differences(
			infra.Fixed("network", path.Base(live.Network), r.Network.Identity()),
			infra.Changeable("nat", onOff(has), onOff(true)),
		), nil
	}
	d.Change = func(ctx context.Context, _ []resource.Drift) error {
		return r.In.Clients.Routers.Patch(ctx, r.Identity(), &compute.Router{Nats: []*compute.RouterNat{wantedNAT()}})
	}
	return d
}

// wantedNAT is for all subnetworks, with as many addresses as it takes.
func wantedNAT() *compute.RouterNat {
	return &compute.RouterNat{Name: natName, NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "ALL_SUBNETWORKS_ALL_IP_RANGES"}
}

// Routers are those of a cluster.
func Routers(c *owner.Cluster) owner.Kind[compute.Router] {
	return owner.KindOf(c, owner.KindRouter, "", c.Clients.Routers.Collection, func(r *compute.Router) infra.Observed {
		return infra.Observed{Identity: r.Name, Marks: owner.DescribedMarks(r.Description)}
	})
}
