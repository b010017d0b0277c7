package api

import (
	"context"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Collection is one kind of Compute Engine's objects, each by its name: that of one that
// is in a zone is "us-central1-a/det-lab-master". Changes wait until they are done.
type Collection[T any] struct {
	Get    func(ctx context.Context, name string) (*T, error)
	Delete func(ctx context.Context, name string) error
	// List lists those that a filter lets through, which may be more than it says. One
	// that cannot see every zone is refused.
	List func(ctx context.Context, filter string) ([]*T, error)
}

// Networks are the networks of the project.
type Networks struct {
	Collection[compute.Network]

	Insert func(ctx context.Context, in *compute.Network) error
}

func newNetworks(g *gateway, s *compute.NetworksService) Networks {
	return Networks{
		Collection: Collection[compute.Network]{
			Get: func(ctx context.Context, name string) (*compute.Network, error) {
				ctx, c := g.begin(ctx, "compute.networks.get")
				return send(ctx, c, s.Get(g.project, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.networks.delete")
				return operate(ctx, c, s.Delete(g.project, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Network, error) {
				return readPages(func(token string) ([]*compute.Network, string, error) {
					ctx, c := g.begin(ctx, "compute.networks.list")
					page, err := send(ctx, c, s.List(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Network) error {
			ctx, c := g.beginRepeatable(ctx, "compute.networks.insert")
			return operate(ctx, c, s.Insert(g.project, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

// Subnetworks are the subnetworks of the region. That of another project, of a shared
// VPC, is "HOST-PROJECT/NAME".
type Subnetworks struct {
	Collection[compute.Subnetwork]

	Insert           func(ctx context.Context, in *compute.Subnetwork) error
	SetPrivateAccess func(ctx context.Context, name string, in *compute.SubnetworksSetPrivateIpGoogleAccessRequest) error
	// Expand makes the range larger. It cannot be made smaller again.
	Expand    func(ctx context.Context, name string, in *compute.SubnetworksExpandIpCidrRangeRequest) error
	GetPolicy func(ctx context.Context, name string) (*compute.Policy, error)
	// SetPolicy is refused with a conflict unless the policy has the etag of the present one.
	SetPolicy func(ctx context.Context, name string, in *compute.Policy) error
	// TestPermissions are those of some permissions that the caller has on a subnetwork.
	TestPermissions func(ctx context.Context, name string, permissions []string) ([]string, error)
}

func newSubnetworks(g *gateway, s *compute.SubnetworksService) Subnetworks {
	return Subnetworks{
		Collection: Collection[compute.Subnetwork]{
			Get: func(ctx context.Context, name string) (*compute.Subnetwork, error) {
				project, name := g.splitProject(name)
				ctx, c := g.begin(ctx, "compute.subnetworks.get")
				return send(ctx, c, s.Get(project, g.region, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.subnetworks.delete")
				return operate(ctx, c, s.Delete(g.project, g.region, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Subnetwork, error) {
				return readPages(func(token string) ([]*compute.Subnetwork, string, error) {
					ctx, c := g.begin(ctx, "compute.subnetworks.list")
					page, err := send(ctx, c, s.List(g.project, g.region).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Subnetwork) error {
			ctx, c := g.beginRepeatable(ctx, "compute.subnetworks.insert")
			return operate(ctx, c, s.Insert(g.project, g.region, in).RequestId(c.id).Context(ctx).Do)
		},
		SetPrivateAccess: func(ctx context.Context, name string, in *compute.SubnetworksSetPrivateIpGoogleAccessRequest) error {
			ctx, c := g.beginRepeatable(ctx, "compute.subnetworks.setPrivateIpGoogleAccess")
			return operate(ctx, c, s.SetPrivateIpGoogleAccess(g.project, g.region, name, in).RequestId(c.id).Context(ctx).Do)
		},
		Expand: func(ctx context.Context, name string, in *compute.SubnetworksExpandIpCidrRangeRequest) error {
			ctx, c := g.beginRepeatable(ctx, "compute.subnetworks.expandIpCidrRange")
			return operate(ctx, c, s.ExpandIpCidrRange(g.project, g.region, name, in).RequestId(c.id).Context(ctx).Do)
		},
		GetPolicy: func(ctx context.Context, name string) (*compute.Policy, error) {
			project, name := g.splitProject(name)
			ctx, c := g.begin(ctx, "compute.subnetworks.getIamPolicy")
			return send(ctx, c, s.GetIamPolicy(project, g.region, name).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do)
		},
		SetPolicy: func(ctx context.Context, name string, in *compute.Policy) error {
			project, name := g.splitProject(name)
			ctx, c := g.begin(ctx, "compute.subnetworks.setIamPolicy")
			return done(send(ctx, c, s.SetIamPolicy(project, g.region, name, &compute.RegionSetPolicyRequest{Policy: in}).Context(ctx).Do))
		},
		TestPermissions: func(ctx context.Context, name string, permissions []string) ([]string, error) {
			project, name := g.splitProject(name)
			ctx, c := g.begin(ctx, "compute.subnetworks.testIamPermissions")
			out, err := send(ctx, c, s.TestIamPermissions(project, g.region, name, &compute.TestPermissionsRequest{Permissions: permissions}).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return out.Permissions, nil
		},
	}
}

// splitProject splits the name of something that may be in another project.
func (g *gateway) splitProject(place string) (project, name string) {
	project, name, shared := strings.Cut(place, "/")
	if !shared {
		return g.project, place
	}
	return project, name
}

// Firewalls are the firewall rules of the project.
type Firewalls struct {
	Collection[compute.Firewall]

	Insert func(ctx context.Context, in *compute.Firewall) error
	Patch  func(ctx context.Context, name string, in *compute.Firewall) error
}

func newFirewalls(g *gateway, s *compute.FirewallsService) Firewalls {
	return Firewalls{
		Collection: Collection[compute.Firewall]{
			Get: func(ctx context.Context, name string) (*compute.Firewall, error) {
				ctx, c := g.begin(ctx, "compute.firewalls.get")
				return send(ctx, c, s.Get(g.project, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.firewalls.delete")
				return operate(ctx, c, s.Delete(g.project, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Firewall, error) {
				return readPages(func(token string) ([]*compute.Firewall, string, error) {
					ctx, c := g.begin(ctx, "compute.firewalls.list")
					page, err := send(ctx, c, s.List(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Firewall) error {
			ctx, c := g.beginRepeatable(ctx, "compute.firewalls.insert")
			return operate(ctx, c, s.Insert(g.project, in).RequestId(c.id).Context(ctx).Do)
		},
		Patch: func(ctx context.Context, name string, in *compute.Firewall) error {
			ctx, c := g.beginRepeatable(ctx, "compute.firewalls.patch")
			return operate(ctx, c, s.Patch(g.project, name, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

// Routers are the routers of the region.
type Routers struct {
	Collection[compute.Router]

	Insert func(ctx context.Context, in *compute.Router) error
	Patch  func(ctx context.Context, name string, in *compute.Router) error
}

func newRouters(g *gateway, s *compute.RoutersService) Routers {
	return Routers{
		Collection: Collection[compute.Router]{
			Get: func(ctx context.Context, name string) (*compute.Router, error) {
				ctx, c := g.begin(ctx, "compute.routers.get")
				return send(ctx, c, s.Get(g.project, g.region, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.routers.delete")
				return operate(ctx, c, s.Delete(g.project, g.region, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Router, error) {
				return readPages(func(token string) ([]*compute.Router, string, error) {
					ctx, c := g.begin(ctx, "compute.routers.list")
					page, err := send(ctx, c, s.List(g.project, g.region).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Router) error {
			ctx, c := g.beginRepeatable(ctx, "compute.routers.insert")
			return operate(ctx, c, s.Insert(g.project, g.region, in).RequestId(c.id).Context(ctx).Do)
		},
		Patch: func(ctx context.Context, name string, in *compute.Router) error {
			ctx, c := g.beginRepeatable(ctx, "compute.routers.patch")
			return operate(ctx, c, s.Patch(g.project, g.region, name, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

// Addresses are the static addresses of the region.
type Addresses struct {
	Collection[compute.Address]

	Insert    func(ctx context.Context, in *compute.Address) error
	SetLabels func(ctx context.Context, name string, in *compute.RegionSetLabelsRequest) error
}

func newAddresses(g *gateway, s *compute.AddressesService) Addresses {
	return Addresses{
		Collection: Collection[compute.Address]{
			Get: func(ctx context.Context, name string) (*compute.Address, error) {
				ctx, c := g.begin(ctx, "compute.addresses.get")
				return send(ctx, c, s.Get(g.project, g.region, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.addresses.delete")
				return operate(ctx, c, s.Delete(g.project, g.region, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Address, error) {
				return readPages(func(token string) ([]*compute.Address, string, error) {
					ctx, c := g.begin(ctx, "compute.addresses.list")
					page, err := send(ctx, c, s.List(g.project, g.region).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Address) error {
			ctx, c := g.beginRepeatable(ctx, "compute.addresses.insert")
			return operate(ctx, c, s.Insert(g.project, g.region, in).RequestId(c.id).Context(ctx).Do)
		},
		SetLabels: func(ctx context.Context, name string, in *compute.RegionSetLabelsRequest) error {
			ctx, c := g.beginRepeatable(ctx, "compute.addresses.setLabels")
			return operate(ctx, c, s.SetLabels(g.project, g.region, name, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

func networkCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.networks.get"),
		edge.Reads("compute.networks.list"),
		edge.Writes("compute.networks.insert", "compute.networks.create"),
		edge.Writes("compute.networks.delete"),
		edge.Reads("compute.subnetworks.get"),
		edge.Reads("compute.subnetworks.list"),
		edge.Writes("compute.subnetworks.insert", "compute.subnetworks.create", "compute.networks.updatePolicy"),
		edge.Writes("compute.subnetworks.delete", "compute.subnetworks.delete", "compute.networks.updatePolicy"),
		edge.Writes("compute.subnetworks.setPrivateIpGoogleAccess"),
		edge.Writes("compute.subnetworks.expandIpCidrRange"),
		edge.Reads("compute.subnetworks.getIamPolicy"),
		edge.Writes("compute.subnetworks.setIamPolicy"),
		freeCall("compute.subnetworks.testIamPermissions"),
		edge.Reads("compute.firewalls.get"),
		edge.Reads("compute.firewalls.list"),
		edge.Writes("compute.firewalls.insert", "compute.firewalls.create", "compute.networks.updatePolicy"),
		edge.Writes("compute.firewalls.patch", "compute.firewalls.update", "compute.networks.updatePolicy"),
		edge.Writes("compute.firewalls.delete", "compute.firewalls.delete", "compute.networks.updatePolicy"),
		edge.Reads("compute.routers.get"),
		edge.Reads("compute.routers.list"),
		edge.Writes("compute.routers.insert", "compute.routers.create", "compute.networks.updatePolicy"),
		edge.Writes("compute.routers.patch", "compute.routers.update", "compute.networks.updatePolicy"),
		edge.Writes("compute.routers.delete", "compute.routers.delete", "compute.networks.updatePolicy"),
		edge.Reads("compute.addresses.get"),
		edge.Reads("compute.addresses.list"),
		edge.Writes("compute.addresses.insert", "compute.addresses.create", "compute.addresses.setLabels"),
		edge.Writes("compute.addresses.delete"),
		edge.Writes("compute.addresses.setLabels"),
	}
}
