package gcptest

import (
	"encoding/json"
	"net/netip"
	"strconv"

	"google.golang.org/api/compute/v1"
)

func subnetworks() collection[compute.Subnetwork] {
	return collection[compute.Subnetwork]{
		name: "subnetworks", kind: "compute#subnetwork", table: func(e *engine) *table[compute.Subnetwork] { return &e.subnetworks },
		create: createSubnetwork, user: (*World).subnetworkUser, removed: leaveNetwork,
		made: func(s *compute.Subnetwork) { s.State = "READY" },
	}
}

func subnetworkActs() map[string]act {
	out := subnetworks().acts("insert", "get", "list", "aggregatedList", "delete", "patch")
	out["compute.subnetworks.getIamPolicy"] = getSubnetworkPolicy
	out["compute.subnetworks.setIamPolicy"] = setSubnetworkPolicy
	out["compute.subnetworks.testIamPermissions"] = testSubnetworkPermissions
	out["compute.subnetworks.expandIpCidrRange"] = expandSubnetwork
	out["compute.subnetworks.setPrivateIpGoogleAccess"] = setPrivateAccess
	return out
}

// createSubnetwork: https://cloud.google.com/vpc/docs/subnets#valid-ranges
func createSubnetwork(c *call, path string, s *compute.Subnetwork) error {
	network := c.pathOf(s.Network)
	n, found := c.engine.networks.get(network)
	if !found {
		return missingReference("network", s.Network)
	}
	prefix, err := netip.ParsePrefix(s.IpCidrRange)
	if err != nil || prefix.Masked() != prefix || prefix.Bits() > 29 {
		return wrongField("ipCidrRange", s.IpCidrRange, "Must be a CIDR address range with a mask of at most 29 bits.")
	}
	if other := c.overlapping(network, path, prefix); other != "" {
		return wrongField("ipCidrRange", s.IpCidrRange, "Invalid IPCidrRange: "+s.IpCidrRange+" conflicts with existing subnetwork '"+nameOf(other)+"' in region '"+placeOf(other)+"'.")
	}
	s.Network, s.GatewayAddress, s.Fingerprint = linkTo(network), prefix.Addr().Next().String(), c.fingerprint()
	s.Purpose, s.StackType = orElse(s.Purpose, "PRIVATE"), orElse(s.StackType, "IPV4_ONLY")
	n.Subnetworks = append(n.Subnetworks, linkTo(path))
	return c.checkQuota(path, "SUBNETWORKS", 1)
}

// overlapping returns another subnetwork of the network that overlaps with a range.
// https://cloud.google.com/vpc/docs/subnets#ipv4-ranges
func (w *World) overlapping(network, path string, prefix netip.Prefix) string {
	for key, s := range w.engine.subnetworks.all() {
		have, err := netip.ParsePrefix(s.IpCidrRange)
		if err == nil && key != path && s.Network == linkTo(network) && have.Overlaps(prefix) {
			return key
		}
	}
	return ""
}

func (w *World) subnetworkUser(path string, _ *compute.Subnetwork) string {
	for key, m := range w.engine.instances.all() {
		for _, nic := range m.NetworkInterfaces {
			if nic.Subnetwork == linkTo(path) {
				return key
			}
		}
	}
	return ""
}

func leaveNetwork(w *World, path string, s *compute.Subnetwork) {
	w.access.forget(path)
	for _, n := range w.engine.networks.all() {
		if n.SelfLink != s.Network {
			continue
		}
		for i, link := range n.Subnetworks {
			if link == linkTo(path) {
				n.Subnetworks = append(n.Subnetworks[:i:i], n.Subnetworks[i+1:]...)
				return
			}
		}
	}
}

// expandSubnetwork expands the range of a subnetwork. It returns an error for a smaller range.
// https://cloud.google.com/compute/docs/reference/rest/v1/subnetworks/expandIpCidrRange
func expandSubnetwork(c *call) (any, error) {
	path, s, err := subnetworks().find(c)
	if err != nil {
		return nil, err
	}
	body := decode[compute.SubnetworksExpandIpCidrRangeRequest](c)
	have, err := netip.ParsePrefix(s.IpCidrRange)
	want, err2 := netip.ParsePrefix(body.IpCidrRange)
	if err != nil || err2 != nil || !want.Contains(have.Addr()) || want.Bits() >= have.Bits() {
		return nil, wrongField("ipCidrRange", body.IpCidrRange, "Must contain the range that the subnetwork has.")
	}
	return c.operate("expandIpCidrRange", path, effect{apply: func() *failure { s.IpCidrRange = body.IpCidrRange; return nil }})
}

// freeAddress returns an unused internal address of a subnetwork. Google reserves the first two and
// the last two. https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
func (w *World) freeAddress(s *compute.Subnetwork) (string, bool) {
	prefix, err := netip.ParsePrefix(s.IpCidrRange)
	if err != nil {
		return "", false
	}
	taken := make(map[string]bool)
	for _, m := range w.engine.instances.all() {
		for _, nic := range m.NetworkInterfaces {
			if nic.Subnetwork == s.SelfLink {
				taken[nic.NetworkIP] = true
			}
		}
	}
	a := prefix.Addr().Next().Next()
	for prefix.Contains(a.Next().Next()) {
		if !taken[a.String()] {
			return a.String(), true
		}
		a = a.Next()
	}
	return "", false
}

func getSubnetworkPolicy(c *call) (any, error) {
	path, err := c.subnetworkByResource()
	if err != nil {
		return nil, err
	}
	return c.readPolicy(path)
}

// setSubnetworkPolicy: https://cloud.google.com/compute/docs/reference/rest/v1/subnetworks/setIamPolicy
func setSubnetworkPolicy(c *call) (any, error) {
	path, err := c.subnetworkByResource()
	if err != nil {
		return nil, err
	}
	var body struct{ Policy *policy }
	if err := json.Unmarshal(c.body, &body); err != nil || body.Policy == nil {
		return nil, invalid("The policy is missing.")
	}
	return c.replacePolicy(path, body.Policy)
}

func testSubnetworkPermissions(c *call) (any, error) {
	path, err := c.subnetworkByResource()
	if err != nil {
		return nil, err
	}
	return c.testPermissions(resourceName{path: path, kind: "compute.googleapis.com/Subnetwork"})
}

func (c *call) subnetworkByResource() (string, error) {
	path, err := subnetworks().path(c, c.params["resource"])
	if err != nil {
		return "", err
	}
	if _, found := c.engine.subnetworks.get(path); !found {
		return "", notFound(path)
	}
	return path, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func decimal(n int) string { return strconv.Itoa(n) }

// setPrivateAccess: https://cloud.google.com/vpc/docs/configure-private-google-access
func setPrivateAccess(c *call) (any, error) {
	path, s, err := subnetworks().find(c)
	if err != nil {
		return nil, err
	}
	body := decode[compute.SubnetworksSetPrivateIpGoogleAccessRequest](c)
	return c.operate("setPrivateIpGoogleAccess", path, effect{apply: func() *failure { s.PrivateIpGoogleAccess = body.PrivateIpGoogleAccess; return nil }})
}
