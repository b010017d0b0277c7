package checks

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// checkNetwork checks the network of the cluster, whether new or existing.
func (c *checker) checkNetwork(ctx context.Context) doctor.Result {
	if c.Spec.Network.Own() {
		return c.checkOwnNetwork(ctx)
	}
	return c.checkExistingNetwork(ctx)
}

// mostMachines returns the maximum number of machines at a time.
func (c *checker) mostMachines() int {
	n := 1
	for _, p := range c.Spec.AllPools() {
		n += p.MaxAgents
	}
	return n
}

// checkOwnNetwork reports other networks with the same addresses. Google allows them, but they
// cannot be peered with the cluster's network.
func (c *checker) checkOwnNetwork(ctx context.Context) doctor.Result {
	const needed = "enough addresses, which no other network of the project uses in the region"
	want, err := netip.ParsePrefix(c.Spec.Network.CIDR)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if have := (facts.Connection{Range: want}).Addresses(); have < c.mostMachines() {
		return doctor.Failed(fmt.Sprintf("%s has addresses for %d machines, but there may be %d", want, have, c.mostMachines()), needed, "choose a larger range with --network-cidr")
	}
	same, err := c.facts.Overlapping(ctx, want, c.Spec.Cluster)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(same) > 0 {
		return doctor.Unsure(strings.Join(same, ", "), needed, "choose another range with --network-cidr if the networks will ever be peered")
	}
	return doctor.Passed("%s in %s", want, c.Spec.Region)
}

// place returns the existing network in its project.
func (c *checker) place() facts.Place {
	n := c.Spec.Network
	at := facts.Place{Project: c.Spec.Project, Network: n.Network, Subnetwork: n.Subnetwork}
	if n.Shared() {
		at.Project = n.HostProject
	}
	return at
}

// checkExistingNetwork checks that the subnetwork belongs to the network, has enough addresses and
// has internet access, over which machines download programs and images. Agents may use a proxy.
func (c *checker) checkExistingNetwork(ctx context.Context) doctor.Result {
	const needed = "a subnetwork of the network with enough addresses and internet access"
	s, err := c.facts.Connection(ctx, c.place())
	if err != nil {
		return doctor.FromError(err, needed)
	}
	wrong, odd := c.judgeConnection(s)
	fix := "choose another with --network and --subnetwork, or add a route or a router with Cloud NAT"
	if !c.Spec.Network.ExternalIP {
		fix += ", or set --agent-external-ip"
	}
	switch {
	case len(wrong) > 0:
		return doctor.Failed(strings.Join(wrong, "; "), needed, fix)
	case len(odd) > 0:
		return doctor.Unsure(strings.Join(odd, "; "), needed, fix)
	}
	return doctor.Passed("%s with %s in %s", c.Spec.Network.Subnetwork, s.Range, c.Spec.Network.Network)
}

func (c *checker) judgeConnection(s facts.Connection) (wrong, odd []string) {
	n := c.Spec.Network
	if s.OtherNetwork != "" {
		wrong = append(wrong, fmt.Sprintf("%s is a subnetwork of %s", n.Subnetwork, s.OtherNetwork))
	}
	if s.Purpose != "" {
		wrong = append(wrong, fmt.Sprintf("%s is for %s", n.Subnetwork, s.Purpose))
	}
	if most := c.mostMachines(); s.Addresses() < most {
		wrong = append(wrong, fmt.Sprintf("%s has addresses for %d machines, but there may be %d", s.Range, s.Addresses(), most))
	}
	switch {
	case s.Gateway && (n.ExternalIP || s.NAT != "" || c.Spec.Proxy.InUse()):
	case s.OtherRoute != "":
		odd = append(odd, fmt.Sprintf("the default route goes through %s, where external addresses may not work", s.OtherRoute))
	case s.Gateway:
		wrong = append(wrong, "agents have no external addresses, and no router of the region has Cloud NAT for "+n.Subnetwork)
	default:
		wrong = append(wrong, n.Network+" has no route to the internet")
	}
	return wrong, odd
}

// flow is traffic that the firewall must admit.
type flow struct {
	facts.Traffic

	what string
	// soft marks traffic that the owner may want to block.
	soft bool
}

// flows returns the ports that the cluster needs, between machines with its network tags.
func (c *checker) flows(subnet netip.Prefix) []flow {
	master := facts.Machine{Tags: append(slices.Clone(c.Spec.Network.Tags), c.Owner.FullName("master")), Account: c.MasterAccount()}
	agent := facts.Machine{Tags: append(slices.Clone(c.Spec.Network.Tags), c.Owner.FullName("agent")), Account: c.AgentAccount()}
	agents := func(from facts.Machine) facts.Traffic {
		return facts.Traffic{Machine: agent, From: &from, Range: subnet, First: hosted.FirstAgentPort, Last: hosted.LastAgentPort}
	}
	out := func(from facts.Machine) facts.Traffic {
		return facts.Traffic{Machine: from, Range: netip.MustParsePrefix("0.0.0.0/0"), First: hosted.InternetPort, Last: hosted.InternetPort, Outgoing: true}
	}
	flows := []flow{
		{facts.Traffic{Machine: master, From: &agent, Range: subnet, First: hosted.MasterPort, Last: hosted.MasterPort}, fmt.Sprintf("agents do not reach the master on port %d", hosted.MasterPort), false},
		{agents(master), fmt.Sprintf("the master does not reach agents on ports %d to %d", hosted.FirstAgentPort, hosted.LastAgentPort), false},
		{agents(agent), fmt.Sprintf("agents do not reach each other on ports %d to %d", hosted.FirstAgentPort, hosted.LastAgentPort), false},
		{out(master), "the master has no access to the internet", false},
		{out(agent), "agents have no access to the internet", false},
	}
	for _, r := range c.Spec.Network.InboundRanges() {
		flows = append(flows, flow{facts.Traffic{Machine: master, Range: r, First: hosted.MasterPort, Last: hosted.MasterPort}, fmt.Sprintf("%s does not reach the master on port %d", r, hosted.MasterPort), true})
	}
	return flows
}

// checkFirewall compares the rules of an existing network with the ports that the cluster needs. It
// ignores the policies of folders and of the organization.
func (c *checker) checkFirewall(ctx context.Context) doctor.Result {
	needed := fmt.Sprintf("rules by which agents reach the master on %d, and the master and agents reach agents on %d to %d", hosted.MasterPort, hosted.FirstAgentPort, hosted.LastAgentPort)
	at := c.place()
	rules, err := c.facts.FirewallRules(ctx, at)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	addresses, err := c.facts.Range(ctx, at)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	wrong, odd := closedFlows(rules, c.flows(addresses))
	fix := "open the ports in the rules of network " + at.Network
	if !c.Spec.Network.Shared() {
		fix += ", or leave the rules to the cluster with --firewall own"
	}
	fix += fmt.Sprintf("; machines have the tags %s and %s, and those of --network-tag", c.Owner.FullName("master"), c.Owner.FullName("agent"))
	switch {
	case len(wrong) > 0:
		return doctor.Failed(strings.Join(wrong, "; "), needed, fix)
	case len(odd) > 0:
		return doctor.Unsure(strings.Join(odd, "; "), "rules that admit the clients of the master", fix)
	}
	return doctor.Passed("%d rules of %s", len(rules), at.Network)
}

func closedFlows(rules []*compute.Firewall, flows []flow) (wrong, odd []string) {
	for _, f := range flows {
		switch {
		case facts.Passes(rules, f.Traffic):
		case f.soft:
			odd = append(odd, f.what)
		default:
			wrong = append(wrong, f.what)
		}
	}
	return wrong, odd
}
