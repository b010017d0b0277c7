package network

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// natName is the name of the NAT configuration in the router, which may contain others.
const natName = "nat"

// Router gives instances without an external address access to the internet (Cloud NAT).
type Router struct {
	In      *mark.Cluster
	Network infra.Ref
	// Addresses are the static external addresses of the NAT. If it is empty, Google allocates
	// addresses as needed, which may change.
	Addresses []infra.Ref
	// MinPorts is the minimum number of ports per instance, which limits concurrent connections to
	// one destination; more are allocated dynamically. 0 means Google's default without dynamic
	// allocation.
	MinPorts int64
	// LogErrors enables logging of connections that were dropped for lack of a port.
	LogErrors bool

	infra.Learned
}

// ID returns the resource ID "gcp/router/nat".
func (*Router) ID() string { return mark.ResourceID(mark.KindRouter, natName) }

// Define implements infra.Defined.
func (r *Router) Define() infra.Definition[*compute.Router] {
	d := mark.Define(r.In, Routers(r.In), natName, &r.Learned, append([]infra.Ref{r.Network}, r.Addresses...)...)
	d.Create = func(ctx context.Context, _ string) error {
		c, name := r.In.Clients, r.In.FullName(natName)
		return mark.Insert(ctx, r.In, r.Define(), name, func() error {
			return api.Run(ctx, c, c.Compute.Routers.Insert(c.Project, c.Region, &compute.Router{
				Name: name, Description: r.description(), Network: r.In.NetworkLink(r.Network), Nats: []*compute.RouterNat{r.wantedNAT()},
			}))
		})
	}
	d.Compare = r.compareLive
	d.Change = r.changeNAT
	d.Retag = func(ctx context.Context, name string, _ map[string]string) error {
		c := r.In.Clients
		return api.Run(ctx, c, c.Compute.Routers.Patch(c.Project, c.Region, name, &compute.Router{Description: r.description()}))
	}
	return d
}

func (r *Router) description() string { return r.In.Description("way to the internet") }

func (r *Router) compareLive(_ context.Context, live *compute.Router) ([]resource.Drift, error) {
	out := []resource.Drift{infra.Fixed("network", path.Base(live.Network), path.Base(r.Network.Identity()))}
	i := slices.IndexFunc(live.Nats, isOwnNAT)
	out = append(out, infra.Changeable("nat", onOff(i >= 0), onOff(true)))
	if i >= 0 {
		have, want := live.Nats[i], r.wantedNAT()
		out = append(out,
			infra.Changeable("nat-ranges", have.SourceSubnetworkIpRangesToNat, want.SourceSubnetworkIpRangesToNat),
			infra.Changeable("nat-addresses", addressText(have), addressText(want)),
			infra.Changeable("nat-ports", portText(have), portText(want)),
			infra.Changeable("nat-log", logText(have), logText(want)))
	}
	return infra.Differences(out...), nil
}

func isOwnNAT(n *compute.RouterNat) bool { return n.Name == natName }

func addressText(n *compute.RouterNat) string {
	var names []string
	for _, link := range n.NatIps {
		names = append(names, path.Base(link))
	}
	return cmp.Or(sortedText(names), "allocated by Google")
}

func portText(n *compute.RouterNat) string {
	if n.MinPortsPerVm == 0 {
		return "Google's default"
	}
	text := strconv.FormatInt(n.MinPortsPerVm, 10)
	if n.EnableDynamicPortAllocation {
		text += " or more"
	}
	return text
}

func logText(n *compute.RouterNat) string {
	if n.LogConfig == nil || !n.LogConfig.Enable {
		return onOff(false)
	}
	return n.LogConfig.Filter
}

// changeNAT replaces det-deploy's NAT configuration and keeps others in the router.
func (r *Router) changeNAT(ctx context.Context, _ []resource.Drift) error {
	c := r.In.Clients
	live, err := api.Do(ctx, c.Compute.Routers.Get(c.Project, c.Region, r.Identity()))
	if err != nil {
		return err
	}
	nats := slices.Clone(live.Nats)
	if i := slices.IndexFunc(nats, isOwnNAT); i >= 0 {
		nats[i] = r.wantedNAT()
	} else {
		nats = append(nats, r.wantedNAT())
	}
	return api.Run(ctx, c, c.Compute.Routers.Patch(c.Project, c.Region, r.Identity(), &compute.Router{Nats: nats}))
}

// wantedNAT returns a NAT configuration for all subnetworks of the network in the region.
func (r *Router) wantedNAT() *compute.RouterNat {
	out := &compute.RouterNat{
		Name: natName, NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "ALL_SUBNETWORKS_ALL_IP_RANGES",
		MinPortsPerVm: r.MinPorts, EnableDynamicPortAllocation: r.MinPorts > 0,
	}
	for _, a := range r.Addresses {
		out.NatIpAllocateOption = "MANUAL_ONLY"
		out.NatIps = append(out.NatIps, "projects/"+r.In.Clients.Project+"/regions/"+r.In.Clients.Region+"/addresses/"+infra.NameOf(a))
	}
	if r.LogErrors {
		out.LogConfig = &compute.RouterNatLogConfig{Enable: true, Filter: "ERRORS_ONLY"}
	}
	return out
}

// Routers returns the kind of the cluster's routers.
func Routers(c *mark.Cluster) mark.Kind[compute.Router] {
	return mark.KindOf(c, mark.KindRouter, "", mark.Calls[compute.Router]{
		Get: func(ctx context.Context, name string) (*compute.Router, error) {
			return api.Do(ctx, c.Clients.Compute.Routers.Get(c.Clients.Project, c.Clients.Region, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Routers.Delete(c.Clients.Project, c.Clients.Region, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Router, error) {
			return api.List(ctx, c.Clients.Compute.Routers.List(c.Clients.Project, c.Clients.Region).Filter(filter), func(p *compute.RouterList) []*compute.Router { return p.Items })
		},
	}, func(r *compute.Router) infra.Observed {
		return infra.Observed{Identity: r.Name, Marks: mark.DescribedMarks(r.Description)}
	})
}
