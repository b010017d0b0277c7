package facts

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// clusterMark is the prefix of the description of objects without labels.
const clusterMark = clusterLabel + "="

// Overlapping returns the subnetworks of other networks in the region that overlap with a range,
// except those of a cluster.
func (f Facts) Overlapping(ctx context.Context, want netip.Prefix, cluster string) ([]string, error) {
	all, err := api.List(ctx, f.Clients.Compute.Subnetworks.List(f.Clients.Project, f.Clients.Region), func(p *compute.SubnetworkList) []*compute.Subnetwork { return p.Items })
	if err != nil {
		return nil, fmt.Errorf("list subnetworks: %w", err)
	}
	var out []string
	for _, s := range all {
		mark, _, _ := strings.Cut(s.Description, "\n")
		have, err := netip.ParsePrefix(s.IpCidrRange)
		if err == nil && have.Overlaps(want) && mark != clusterMark+cluster {
			out = append(out, fmt.Sprintf("%s of network %s has %s", s.Name, path.Base(s.Network), have))
		}
	}
	slices.Sort(out)
	return out, nil
}

// Place is an existing network and one of its subnetworks in the region. The project may be the
// host project of a Shared VPC.
type Place struct{ Project, Network, Subnetwork string }

// Connection describes the connectivity of an existing subnetwork.
type Connection struct {
	Range netip.Prefix
	// OtherNetwork is the network of the subnetwork if it is not the one of the Place.
	OtherNetwork string
	// Purpose is the purpose of the subnetwork. It is empty if the subnetwork can contain
	// instances.
	Purpose string
	// Gateway reports whether the network has a default route to the internet, which instances with
	// external addresses use.
	Gateway bool
	// OtherRoute is the next hop of another default route: an instance or a VPN.
	OtherRoute string
	// NAT is the router that gives instances without external addresses access to the internet.
	NAT string
	// PrivateAccess reports whether instances without external addresses can reach Google's
	// services.
	PrivateAccess bool
}

// Addresses returns the number of usable addresses of the subnetwork. Google reserves four.
func (c Connection) Addresses() int { return 1<<(32-c.Range.Bits()) - 4 }

// Connection returns the connectivity of a subnetwork.
func (f Facts) Connection(ctx context.Context, at Place) (Connection, error) {
	home := f.Clients.In(at.Project)
	s, addresses, err := f.readSubnetwork(ctx, at)
	if err != nil {
		return Connection{}, err
	}
	c := Connection{Range: addresses, PrivateAccess: s.PrivateIpGoogleAccess}
	if path.Base(s.Network) != at.Network {
		c.OtherNetwork = path.Base(s.Network)
	}
	if s.Purpose != "" && s.Purpose != "PRIVATE" {
		c.Purpose = s.Purpose
	}
	err = infra.SideBySide(func() error { return c.readRoutes(ctx, home, s) }, func() error { return c.readNAT(ctx, home, s) })
	return c, err
}

// Range returns the address range of a subnetwork.
func (f Facts) Range(ctx context.Context, at Place) (netip.Prefix, error) {
	_, addresses, err := f.readSubnetwork(ctx, at)
	return addresses, err
}

func (f Facts) readSubnetwork(ctx context.Context, at Place) (*compute.Subnetwork, netip.Prefix, error) {
	s, err := api.Do(ctx, f.Clients.Compute.Subnetworks.Get(at.Project, f.Clients.Region, at.Subnetwork))
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("describe subnetwork %s of project %s in %s: %w", at.Subnetwork, at.Project, f.Clients.Region, err)
	}
	addresses, err := netip.ParsePrefix(s.IpCidrRange)
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("describe subnetwork %s: it has no IPv4 range (%q)", at.Subnetwork, s.IpCidrRange)
	}
	return s, addresses, nil
}

// defaultRange is the destination of a default route.
const defaultRange = "0.0.0.0/0"

// readRoutes reads the next hop of the network's default route with the highest priority.
func (c *Connection) readRoutes(ctx context.Context, home api.Clients, s *compute.Subnetwork) error {
	all, err := api.List(ctx, home.Compute.Routes.List(home.Project), func(p *compute.RouteList) []*compute.Route { return p.Items })
	if err != nil {
		return fmt.Errorf("list the routes of project %s: %w", home.Project, err)
	}
	all = slices.DeleteFunc(all, func(r *compute.Route) bool {
		return r.DestRange != defaultRange || linkPath(r.Network) != linkPath(s.Network) || len(r.Tags) > 0
	})
	slices.SortFunc(all, func(a, b *compute.Route) int { return int(a.Priority - b.Priority) })
	if len(all) == 0 {
		return nil
	}
	r := all[0]
	if c.Gateway = path.Base(r.NextHopGateway) == "default-internet-gateway"; !c.Gateway {
		c.OtherRoute = path.Base(firstOf(r.NextHopInstance, r.NextHopIlb, r.NextHopVpnTunnel, r.NextHopPeering, r.NextHopIp, r.NextHopHub, r.Name))
	}
	return nil
}

func firstOf(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return s != "" })
	return texts[max(i, 0)]
}

// readNAT finds a router of the network whose NAT covers the subnetwork.
func (c *Connection) readNAT(ctx context.Context, home api.Clients, s *compute.Subnetwork) error {
	all, err := api.List(ctx, home.Compute.Routers.List(home.Project, home.Region), func(p *compute.RouterList) []*compute.Router { return p.Items })
	if err != nil {
		return fmt.Errorf("list the routers of project %s: %w", home.Project, err)
	}
	for _, r := range all {
		serves := slices.ContainsFunc(r.Nats, func(n *compute.RouterNat) bool { return hasSubnetwork(n, s) })
		if linkPath(r.Network) == linkPath(s.Network) && serves {
			c.NAT = r.Name
		}
	}
	return nil
}

func hasSubnetwork(n *compute.RouterNat, s *compute.Subnetwork) bool {
	return n.SourceSubnetworkIpRangesToNat != "LIST_OF_SUBNETWORKS" ||
		slices.ContainsFunc(n.Subnetworks, func(in *compute.RouterNatSubnetworkToNat) bool { return linkPath(in.Name) == linkPath(s.SelfLink) })
}

// linkPath returns the path of a full or partial resource URL: "projects/p/global/networks/n".
func linkPath(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}

// FirewallRules returns the firewall rules of a network.
func (f Facts) FirewallRules(ctx context.Context, at Place) ([]*compute.Firewall, error) {
	all, err := api.List(ctx, f.Clients.Compute.Firewalls.List(at.Project), func(p *compute.FirewallList) []*compute.Firewall { return p.Items })
	if err != nil {
		return nil, fmt.Errorf("list the firewall rules of project %s: %w", at.Project, err)
	}
	want := "projects/" + at.Project + "/global/networks/" + at.Network
	return slices.DeleteFunc(all, func(r *compute.Firewall) bool { return linkPath(r.Network) != want || r.Disabled }), nil
}
