// Package network manages the network of a cluster: VPC network, subnetwork, firewall rules, Cloud
// NAT and the master's address.
package network

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Network is a VPC network created for the cluster. It has no automatic subnetworks.
type Network struct {
	In *mark.Cluster

	infra.Learned
}

// ID returns the resource ID "gcp/network/main".
func (*Network) ID() string { return mark.ResourceID(mark.KindNetwork, "main") }

// Define implements infra.Defined.
func (n *Network) Define() infra.Definition[*compute.Network] {
	d := mark.Define(n.In, Networks(n.In), "", &n.Learned)
	d.Create = n.createNetwork
	d.Compare = func(_ context.Context, live *compute.Network) ([]resource.Drift, error) {
		return infra.Differences(infra.Fixed("subnetworks", subnetMode(live.AutoCreateSubnetworks), subnetMode(false))), nil
	}
	return d
}

func subnetMode(auto bool) string {
	if auto {
		return "auto mode"
	}
	return "custom mode"
}

func (n *Network) createNetwork(ctx context.Context, _ string) error {
	c, name := n.In.Clients, n.In.FullName("")
	return mark.Insert(ctx, n.In, n.Define(), name, func() error {
		return api.Run(ctx, c, c.Compute.Networks.Insert(c.Project, &compute.Network{
			Name: name, Description: n.In.Description("network"),
			AutoCreateSubnetworks: false, ForceSendFields: []string{"AutoCreateSubnetworks"},
		}))
	})
}

// Networks returns the kind of the cluster's networks. A network can be deleted once it is empty.
func Networks(c *mark.Cluster) mark.Kind[compute.Network] {
	return mark.KindOf(c, mark.KindNetwork, "", mark.Calls[compute.Network]{
		Get: func(ctx context.Context, name string) (*compute.Network, error) {
			return api.Do(ctx, c.Clients.Compute.Networks.Get(c.Clients.Project, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Networks.Delete(c.Clients.Project, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Network, error) {
			return api.List(ctx, c.Clients.Compute.Networks.List(c.Clients.Project).Filter(filter), func(p *compute.NetworkList) []*compute.Network { return p.Items })
		},
	}, func(n *compute.Network) infra.Observed {
		return infra.Observed{Identity: n.Name, Marks: mark.DescribedMarks(n.Description)}
	})
}
