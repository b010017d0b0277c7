package gcptest

import (
	"strings"

	"google.golang.org/api/compute/v1"
)

func networks() collection[compute.Network] {
	return collection[compute.Network]{
		name: "networks", kind: "compute#network", table: func(e *engine) *table[compute.Network] { return &e.networks },
		create: createNetwork, user: (*World).networkUser, removed: forgetRoutes,
	}
}

func networkActs() map[string]act {
	return networks().acts("insert", "get", "list", "delete", "patch")
}

// createNetwork completes a network and adds its default route to the internet.
// https://cloud.google.com/vpc/docs/routes#routingpacketsinternet
func createNetwork(c *call, path string, n *compute.Network) error {
	if n.IPv4Range != "" {
		return wrongField("IPv4Range", n.IPv4Range, "Legacy networks can no longer be made.")
	}
	if n.RoutingConfig == nil {
		n.RoutingConfig = &compute.NetworkRoutingConfig{RoutingMode: "REGIONAL"}
	}
	if n.Mtu == 0 {
		n.Mtu = 1460
	}
	n.NetworkFirewallPolicyEnforcementOrder = "AFTER_CLASSIC_FIREWALL"
	c.addRoute(path, "0.0.0.0/0")
	return c.checkQuota(path, "NETWORKS", 1)
}

func (w *World) addRoute(network, destination string) *row[compute.Route] {
	id := w.nextID()
	name := "default-route-" + hashOf(network + destination)[:16]
	path := strings.Join(strings.Split(network, "/")[:3], "/") + "/routes/" + name
	return w.engine.routes.add(path, &compute.Route{
		Kind: "compute#route", Id: id, Name: name, SelfLink: linkTo(path), Network: linkTo(network), DestRange: destination,
		Priority: 1000, NextHopGateway: linkTo(strings.Join(strings.Split(network, "/")[:3], "/") + "/gateways/default-internet-gateway"),
		CreationTimestamp: w.stamp(),
	})
}

// SetRoute changes the default route of a network, such as its next hop to an instance.
func (w *World) SetRoute(projectID, network string, change func(*compute.Route)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.engine.routes.all() {
		if r.Network == linkTo("projects/"+projectID+"/global/networks/"+network) {
			change(r)
		}
	}
}

func forgetRoutes(w *World, path string, _ *compute.Network) {
	for key, r := range w.engine.routes.all() {
		if r.Network == linkTo(path) {
			w.engine.routes.remove(key)
		}
	}
}

// networkUser returns the object that prevents the deletion of a network.
// https://cloud.google.com/vpc/docs/create-modify-vpc-networks#deleting_a_network
func (w *World) networkUser(path string, _ *compute.Network) string {
	link := linkTo(path)
	for key, s := range w.engine.subnetworks.all() {
		if s.Network == link {
			return key
		}
	}
	for key, f := range w.engine.firewalls.all() {
		if f.Network == link {
			return key
		}
	}
	for key, r := range w.engine.routers.all() {
		if r.Network == link {
			return key
		}
	}
	return ""
}

// addDefaultNetwork adds the default network of a new project.
// https://cloud.google.com/vpc/docs/vpc#default-network
func (w *World) addDefaultNetwork(p *project) {
	path := "projects/" + p.id + "/global/networks/default"
	n := w.engine.networks.give(path, &compute.Network{
		Kind: "compute#network", Id: w.nextID(), Name: "default", SelfLink: linkTo(path), AutoCreateSubnetworks: true,
		RoutingConfig: &compute.NetworkRoutingConfig{RoutingMode: "REGIONAL"}, CreationTimestamp: w.stamp(), Mtu: 1460,
		Description: "Default network for the project",
	})
	w.addRoute(path, "0.0.0.0/0").given = true
	for i, region := range regions() {
		key := "projects/" + p.id + "/regions/" + region + "/subnetworks/default"
		w.engine.subnetworks.give(key, &compute.Subnetwork{
			Kind: "compute#subnetwork", Id: w.nextID(), Name: "default", SelfLink: linkTo(key), Network: linkTo(path),
			Region: linkTo("projects/" + p.id + "/regions/" + region), IpCidrRange: "10." + decimal(128+4*i) + ".0.0/20",
			GatewayAddress: "10." + decimal(128+4*i) + ".0.1", Purpose: "PRIVATE", StackType: "IPV4_ONLY", Fingerprint: w.fingerprint(), CreationTimestamp: w.stamp(),
		})
		n.Subnetworks = append(n.Subnetworks, linkTo(key))
	}
	for name, ports := range map[string][]string{"default-allow-ssh": {"22"}, "default-allow-internal": {"0-65535"}} {
		key := "projects/" + p.id + "/global/firewalls/" + name
		w.engine.firewalls.give(key, &compute.Firewall{
			Kind: "compute#firewall", Id: w.nextID(), Name: name, SelfLink: linkTo(key), Network: linkTo(path), Direction: "INGRESS", Priority: 65534,
			SourceRanges: []string{"10.128.0.0/9"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: ports}}, CreationTimestamp: w.stamp(),
		})
	}
}

func routes() collection[compute.Route] {
	return collection[compute.Route]{name: "routes", kind: "compute#route", table: func(e *engine) *table[compute.Route] { return &e.routes }}
}

func routeActs() map[string]act { return routes().acts("get", "list") }
