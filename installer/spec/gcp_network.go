package spec

import (
	"regexp"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// GCPNetwork configures the network of a cluster's machines and who may reach them. The network is
// a new one, or an existing one that another project may share.
type GCPNetwork struct {
	Inbound    `yaml:",inline"`
	SSH        bool     `yaml:"ssh" doc:"Allow SSH from the same ranges to the machines"`
	ExternalIP bool     `yaml:"external_ip" doc:"Give agents external addresses; otherwise they need nat or another way to the internet"`
	Tags       []string `yaml:"tags" doc:"Additional network tags of all machines, for firewall rules of an existing network"`

	CIDR string `yaml:"cidr" doc:"Address range of the subnetwork in the cluster's own network"`
	NAT  bool   `yaml:"nat" doc:"Create a router with Cloud NAT in the cluster's own network, for machines without external addresses"`

	HostProject string      `yaml:"host_project" doc:"Project that shares the existing network; by default the cluster's project"`
	Network     string      `yaml:"network" doc:"Existing network to use instead of a new one"`
	Subnetwork  string      `yaml:"subnetwork" doc:"Subnetwork of the existing network in the cluster's region"`
	Firewall    GCPFirewall `yaml:"firewall" doc:"Rules in an existing network: own, created for the cluster; existing, yours are checked"`
	ShareAccess bool        `yaml:"share_access" doc:"Give the cluster's accounts the role Compute Network User on a shared subnetwork"`
}

// GCPFirewall selects who manages the firewall rules.
type GCPFirewall string

// The values of GCPFirewall.
const (
	OwnFirewall      GCPFirewall = "own"
	ExistingFirewall GCPFirewall = "existing"
)

// DefaultGCPNetwork returns the settings of a new network.
func DefaultGCPNetwork() GCPNetwork {
	// The same range as on AWS, so that one address plan fits both.
	return GCPNetwork{ExternalIP: true, CIDR: "10.192.0.0/16", Firewall: OwnFirewall}
}

// Own reports whether the cluster creates its network.
func (n GCPNetwork) Own() bool { return n.Network == "" && n.Subnetwork == "" }

// Shared reports whether the network belongs to another project.
func (n GCPNetwork) Shared() bool { return n.HostProject != "" }

// gcpName matches the names that Google accepts for most resources (RFC 1035).
var gcpName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkName(e *document.Errors, path, name string) {
	e.Check(name == "" || gcpName.MatchString(name), path, "must have up to 63 lower-case letters, digits and inner hyphens, beginning with a letter (is %q)", name)
}

// maxNetworkTags is Google's limit of 64 per machine, less the cluster's tags and room for those of
// a pool.
const maxNetworkTags = 32

// Validate checks the ranges, and that settings for new and existing networks are not mixed.
func (n GCPNetwork) Validate(path string) document.Errors {
	e := n.validate(path)
	at := func(key string) string { return document.Join(path, key) }
	if n.Own() {
		e = append(e, n.validateOwn(path)...)
	} else {
		e = append(e, n.validateExisting(path)...)
	}
	e.Check(len(n.Tags) <= maxNetworkTags, at("tags"), "must be at most %d (are %d)", maxNetworkTags, len(n.Tags))
	for i, t := range n.Tags {
		checkName(&e, document.Index(at("tags"), i), t)
		e.Check(t != "", document.Index(at("tags"), i), "must not be empty")
		e.Check(!slices.Contains(n.Tags[:i], t), document.Index(at("tags"), i), "is given twice (%q)", t)
	}
	return e
}

func (n GCPNetwork) validateOwn(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	if p := checkRange(&e, at("cidr"), n.CIDR); p.IsValid() {
		// Google's limits are /8 and /29. An address per agent needs more than a /22.
		e.Check(p.Addr().Is4() && p.Bits() >= 8 && p.Bits() <= 22, at("cidr"), "must be an IPv4 range between /8 and /22 (is %q)", n.CIDR)
		e.Check(!p.Addr().Is4() || p.Addr().IsPrivate() || p.Bits() < 8, at("cidr"), "must be private addresses, in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 (is %q)", n.CIDR)
	}
	e.Check(n.HostProject == "", at("host_project"), "belongs to an existing network; name it with network and subnetwork")
	e.Check(n.Firewall == OwnFirewall, at("firewall"), "must be own in the cluster's own network (is %q)", n.Firewall)
	e.Check(!n.ShareAccess, at("share_access"), "belongs to a shared subnetwork; name its project with host_project")
	e.Check(n.ExternalIP || n.NAT, at("nat"), "is required without external_ip, because agents need internet access; set one of the two")
	return e
}

func (n GCPNetwork) validateExisting(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(n.Network != "", at("network"), "is required with subnetwork")
	e.Check(n.Subnetwork != "", at("subnetwork"), "is required with an existing network")
	checkName(&e, at("network"), n.Network)
	checkName(&e, at("subnetwork"), n.Subnetwork)
	e.Check(n.HostProject == "" || ValidProject(n.HostProject), at("host_project"), "must be the id of a project (is %q)", n.HostProject)
	e.Check(!n.ShareAccess || n.Shared(), at("share_access"), "belongs to a shared subnetwork; name its project with host_project")
	e.Check(n.Firewall == OwnFirewall || n.Firewall == ExistingFirewall, at("firewall"), "must be own or existing (is %q)", n.Firewall)
	e.Check(!n.SSH || n.Firewall == OwnFirewall, at("ssh"), "has no effect on existing firewall rules; open port 22 there")
	e.Check(!n.Shared() || n.Firewall == ExistingFirewall, at("firewall"),
		"must be existing in a shared network, whose rules belong to the host project; its administrator must open the ports")
	e.Check(n.CIDR == DefaultGCPNetwork().CIDR, at("cidr"), "applies only to the cluster's own network; an existing one has its own range")
	e.Check(!n.NAT, at("nat"), "applies only to the cluster's own network; create a router in the existing one yourself")
	return e
}
