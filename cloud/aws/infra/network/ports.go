package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

const (
	tcp        = "tcp"
	everything = "-1" // EC2's value for all protocols
	sshPort    = 22
)

// Rule is an ingress rule with one CIDR block or one security group as its source.
type Rule struct {
	// Port is a TCP port. 0 means all ports of all protocols.
	Port int32
	// From is a CIDR block. If it is zero, Group applies.
	From  netip.Prefix
	Group infra.Ref
	// Why is the description shown in the console.
	Why string
}

// MasterRules returns the ingress rules of a master: its port for users and agents, and SSH for
// users if there is a key pair.
func MasterRules(port int32, inbound []netip.Prefix, agents infra.Ref, ssh bool) []Rule {
	out := []Rule{{Port: port, Group: agents, Why: "agents and tasks to the master"}}
	for _, from := range inbound {
		out = append(out, Rule{Port: port, From: from, Why: "users to the master"})
		if ssh {
			out = append(out, Rule{Port: sshPort, From: from, Why: "administrators to the machine"})
		}
	}
	return out
}

// AgentRules returns the ingress rules of an agent: all traffic from the master, which proxies
// notebooks, shells and TensorBoards, and all traffic from other agents, because distributed
// training uses ports that are not known in advance.
func AgentRules(master, agents infra.Ref) []Rule {
	return []Rule{
		{Group: master, Why: "the master to tasks"},
		{Group: agents, Why: "agents to each other"},
	}
}

// sourceName returns the source of r.
func (r Rule) sourceName() string {
	if r.From.IsValid() {
		return r.From.Masked().String()
	}
	return r.Group.Identity()
}

// planKey returns the form of r in a plan: "8443 from 10.0.0.0/8". It is equal for equivalent
// rules.
func (r Rule) planKey() string {
	port := "all"
	if r.Port != 0 {
		port = strconv.Itoa(int(r.Port))
	}
	return port + " from " + r.sourceName()
}

// describeRule describes the rule in a plan before its security groups exist.
func (r Rule) describeRule() string {
	port := "everything"
	if r.Port != 0 {
		port = "TCP " + strconv.Itoa(int(r.Port))
	}
	if r.From.IsValid() {
		return port + " from " + r.From.Masked().String()
	}
	if id := r.Group.ID(); id != "" {
		return port + " from " + id
	}
	return port + " from " + r.Group.Identity()
}

// ipPermission converts r to EC2's type.
func (r Rule) ipPermission() types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String(everything)}
	if r.Port != 0 {
		p.IpProtocol, p.FromPort, p.ToPort = aws.String(tcp), aws.Int32(r.Port), aws.Int32(r.Port)
	}
	switch {
	case !r.From.IsValid():
		p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: aws.String(r.Group.Identity()), Description: aws.String(r.Why)}}
	case r.From.Addr().Is4():
		p.IpRanges = []types.IpRange{{CidrIp: aws.String(r.sourceName()), Description: aws.String(r.Why)}}
	default:
		p.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: aws.String(r.sourceName()), Description: aws.String(r.Why)}}
	}
	return p
}

// splitPermissions splits permissions into one per source, by their plan key.
func splitPermissions(ps []types.IpPermission) map[string]types.IpPermission {
	out := make(map[string]types.IpPermission)
	for _, p := range ps {
		one := types.IpPermission{IpProtocol: p.IpProtocol, FromPort: p.FromPort, ToPort: p.ToPort}
		for _, r := range p.IpRanges {
			one := one
			one.IpRanges = []types.IpRange{r}
			out[openPorts(p)+" from "+aws.ToString(r.CidrIp)] = one
		}
		for _, r := range p.Ipv6Ranges {
			one := one
			one.Ipv6Ranges = []types.Ipv6Range{r}
			out[openPorts(p)+" from "+aws.ToString(r.CidrIpv6)] = one
		}
		for _, r := range p.PrefixListIds {
			one := one
			one.PrefixListIds = []types.PrefixListId{r}
			out[openPorts(p)+" from "+aws.ToString(r.PrefixListId)] = one
		}
		for _, r := range p.UserIdGroupPairs {
			one := one
			one.UserIdGroupPairs = []types.UserIdGroupPair{r}
			out[openPorts(p)+" from "+aws.ToString(r.GroupId)] = one
		}
	}
	return out
}

// openPorts formats the ports of p without the source: "all", "8443", "udp 53", "1024-65535".
func openPorts(p types.IpPermission) string {
	proto := aws.ToString(p.IpProtocol)
	if proto == everything {
		return "all"
	}
	ports := strconv.Itoa(int(aws.ToInt32(p.FromPort)))
	if aws.ToInt32(p.FromPort) != aws.ToInt32(p.ToPort) {
		ports += "-" + strconv.Itoa(int(aws.ToInt32(p.ToPort)))
	}
	if proto == tcp {
		return ports
	}
	return proto + " " + ports
}

// sortKeys sorts rules by port, then by source.
func sortKeys(keys []string) []string {
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(portsOf(a)), len(portsOf(b))), cmp.Compare(a, b))
	})
	return keys
}

func portsOf(key string) string {
	s, _, _ := strings.Cut(key, " from ")
	return s
}
