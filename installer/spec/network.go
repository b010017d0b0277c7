package spec

import (
	"net/netip"
	"regexp"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Inbound configures who may reach a cluster, on any cloud.
type Inbound struct {
	InboundCIDRs []string `yaml:"inbound_cidrs" doc:"Address ranges that may reach the master; 0.0.0.0/0 means all"`
}

// InboundRanges returns the valid ranges that may reach the master, without duplicates.
func (n Inbound) InboundRanges() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range n.InboundCIDRs {
		if p, err := netip.ParsePrefix(withLength(text)); err == nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// withLength returns a single address as a range.
func withLength(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	return text
}

func (n Inbound) validate(path string) document.Errors {
	var e document.Errors
	at := document.Join(path, "inbound_cidrs")
	e.Check(len(n.InboundCIDRs) > 0, at,
		"is required: set --inbound-cidr to your own address, such as 203.0.113.7/32, or to 0.0.0.0/0 for all addresses")
	for i, c := range n.InboundCIDRs {
		p := checkRange(&e, document.Index(at, i), withLength(c))
		e.Check(!p.IsValid() || p.Addr().Is4(), document.Index(at, i), "must be an IPv4 range, as the master's address is (is %q)", c)
	}
	return e
}

// AWSNetwork configures the network of a cluster's machines and who may reach them. The network is
// a new VPC or parts of an existing one.
type AWSNetwork struct {
	Inbound  `yaml:",inline"`
	SSH      bool `yaml:"ssh" doc:"Allow SSH from the same ranges to the machines; needs key_pair"`
	PublicIP bool `yaml:"public_ip" doc:"Give agents public addresses; otherwise their subnets need another way to the internet"`

	CIDR  string   `yaml:"cidr" doc:"Address range of the cluster's own VPC"`
	Zones []string `yaml:"zones" doc:"Zones of the subnets in the cluster's VPC; by default those that offer the pools' instance types"`

	VPC                 string   `yaml:"vpc" doc:"Existing VPC to use instead of a new one"`
	Subnets             []string `yaml:"subnets" doc:"Subnets of the existing VPC, in order of preference"`
	MasterSecurityGroup string   `yaml:"master_security_group" doc:"Existing security group of the master; by default a new one"`
	AgentSecurityGroup  string   `yaml:"agent_security_group" doc:"Existing security group of agents; by default a new one"`
}

// DefaultAWSNetwork returns the settings of a new VPC.
func DefaultAWSNetwork() AWSNetwork {
	// The range that Determined's own deployments use, so that existing peerings fit.
	return AWSNetwork{PublicIP: true, CIDR: "10.192.0.0/16"}
}

// Own reports whether the cluster creates its VPC.
func (n AWSNetwork) Own() bool { return n.VPC == "" }

// hexID matches the end of EC2 resource IDs, in the short and long format.
const hexID = `-([0-9a-f]{8}|[0-9a-f]{17})$`

// These match the names of zones and the IDs of EC2 resources.
var (
	zoneName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9][a-z0-9-]*$`)
	vpcID    = regexp.MustCompile(`^vpc` + hexID)
	subnetID = regexp.MustCompile(`^subnet` + hexID)
	groupID  = regexp.MustCompile(`^sg` + hexID)
	imageID  = regexp.MustCompile(`^ami` + hexID)
	volumeID = regexp.MustCompile(`^vol` + hexID)
	snapID   = regexp.MustCompile(`^snap` + hexID)
)

// Validate checks the ranges, and that settings for new and existing networks are not mixed.
func (n AWSNetwork) Validate(path string) document.Errors {
	e := n.validate(path)
	at := func(key string) string { return document.Join(path, key) }
	if n.Own() {
		e = append(e, n.validateOwn(path)...)
	} else {
		e = append(e, n.validateExisting(path)...)
	}
	checkID(&e, at("master_security_group"), n.MasterSecurityGroup, groupID, "sg-0123456789abcdef0")
	checkID(&e, at("agent_security_group"), n.AgentSecurityGroup, groupID, "sg-0123456789abcdef0")
	return e
}

func (n AWSNetwork) validateOwn(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	if p := checkRange(&e, at("cidr"), n.CIDR); p.IsValid() {
		// AWS's limits are /16 and /28. A subnet per zone and an address per agent need more than a
		// /22.
		e.Check(p.Addr().Is4() && p.Bits() >= 16 && p.Bits() <= 22, at("cidr"), "must be an IPv4 range between /16 and /22 (is %q)", n.CIDR)
	}
	e.Check(len(n.Zones) <= maxZones, at("zones"), "must be at most %d (are %d)", maxZones, len(n.Zones))
	for i, z := range n.Zones {
		e.Check(zoneName.MatchString(z), document.Index(at("zones"), i), "must be a zone such as us-west-2a (is %q)", z)
		e.Check(!slices.Contains(n.Zones[:i], z), document.Index(at("zones"), i), "is given twice (%q)", z)
	}
	e.Check(len(n.Subnets) == 0, at("subnets"), "belong to an existing VPC; name it with vpc")
	e.Check(n.MasterSecurityGroup == "", at("master_security_group"), "belongs to an existing VPC; name it with vpc")
	e.Check(n.AgentSecurityGroup == "", at("agent_security_group"), "belongs to an existing VPC; name it with vpc")
	return e
}

func (n AWSNetwork) validateExisting(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkID(&e, at("vpc"), n.VPC, vpcID, "vpc-0123456789abcdef0")
	e.Check(len(n.Subnets) > 0, at("subnets"), "are required with an existing VPC; name at least one")
	for i, s := range n.Subnets {
		checkID(&e, document.Index(at("subnets"), i), s, subnetID, "subnet-0123456789abcdef0")
		e.Check(!slices.Contains(n.Subnets[:i], s), document.Index(at("subnets"), i), "is given twice (%q)", s)
	}
	e.Check(len(n.Zones) == 0, at("zones"), "apply only to the cluster's own VPC; name subnets of the existing one instead")
	e.Check(!n.SSH || n.MasterSecurityGroup == "" || n.AgentSecurityGroup == "", at("ssh"), "has no effect on existing security groups; open port 22 there")
	e.Check(n.CIDR == DefaultAWSNetwork().CIDR, at("cidr"), "applies only to the cluster's own VPC; an existing one has its own range")
	return e
}

// maxZones is the number of subnets into which a new VPC is divided.
const maxZones = 8

func checkRange(e *document.Errors, path, text string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		e.Add(path, "must be an address range such as 203.0.113.0/24 (is %q)", text)
		return netip.Prefix{}
	}
	if p != p.Masked() {
		e.Add(path, "has address bits beyond its length; write %s (is %q)", p.Masked(), text)
		return netip.Prefix{}
	}
	return p
}

func checkID(e *document.Errors, path, id string, form *regexp.Regexp, example string) {
	e.Check(id == "" || form.MatchString(id), path, "must be an id such as %s (is %q)", example, id)
}
