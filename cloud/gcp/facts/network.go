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

// clusterMark begins the description of what of a cluster takes no labels.
const clusterMark = clusterLabel + "="

// Overlapping names the subnetworks of other networks in the region that have addresses of
// a range, but for those of a cluster.
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

// Place is an existing network with one of its subnetworks in the region. The project may
// be another one, which shares them.
type Place struct{ Project, Network, Subnetwork string }

// Connection is what an existing subnetwork gives to machines.
type Connection struct {
	Range netip.Prefix
	// OtherNetwork is the one that the subnetwork is of, where that is not the place's.
	OtherNetwork string
	// Purpose is empty for a subnetwork that machines may be in.
	Purpose string
	// Gateway says that the network has a route to the internet, which machines with
	// addresses of their own take.
	Gateway bool
	// OtherRoute is by what another default route leads: a machine or a VPN.
	OtherRoute string
	// NAT is the router with which machines without such addresses get there.
	NAT string
	// PrivateAccess says that they reach Google's services without.
	PrivateAccess bool
}

// Addresses is how many machines a subnetwork has addresses for: Google keeps four.
func (c Connection) Addresses() int { return 1<<(32-c.Range.Bits()) - 4 }

// Connection asks what a subnetwork gives to machines.
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

// Range asks for the addresses of a subnetwork.
func (f Facts) Range(ctx context.Context, at Place) (netip.Prefix, error) {
	_, addresses, err := f.readSubnetwork(ctx, at)
	return addresses, err
}

func (f Facts) readSubnetwork(ctx context.Context, at Place) (*compute.Subnetwork, netip.Prefix, error) {
	s, err := api.Do(ctx, f.Clients.Compute.Subnetworks.Get(at.Project, f.Clients.Region, at.Subnetwork))
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("look at subnetwork %s of project %s in %s: %w", at.Subnetwork, at.Project, f.Clients.Region, err)
	}
	addresses, err := netip.ParsePrefix(s.IpCidrRange)
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("look at subnetwork %s: it has no IPv4 addresses (%q)", at.Subnetwork, s.IpCidrRange)
	}
	return s, addresses, nil
}

// defaultRange is what a route to everywhere leads to.
const defaultRange = "0.0.0.0/0"

// readRoutes reads by what the network's default route of the highest priority leads.
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

// readNAT looks for a router of the network whose NAT has the subnetwork.
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

// linkPath is what a full or partial link names: "projects/p/global/networks/n".
func linkPath(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}

// FirewallRules lists the rules of a network.
func (f Facts) FirewallRules(ctx context.Context, at Place) ([]*compute.Firewall, error) {
	all, err := api.List(ctx, f.Clients.Compute.Firewalls.List(at.Project), func(p *compute.FirewallList) []*compute.Firewall { return p.Items })
	if err != nil {
		return nil, fmt.Errorf("list the firewall rules of project %s: %w", at.Project, err)
	}
	want := "projects/" + at.Project + "/global/networks/" + at.Network
	return slices.DeleteFunc(all, func(r *compute.Firewall) bool { return linkPath(r.Network) != want || r.Disabled }), nil
}
