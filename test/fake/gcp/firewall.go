package gcptest

import (
	"net/netip"
	"regexp"

	"google.golang.org/api/compute/v1"
)

func firewalls() collection[compute.Firewall] {
	return collection[compute.Firewall]{
		name: "firewalls", kind: "compute#firewall", table: func(e *engine) *table[compute.Firewall] { return &e.firewalls },
		create: createFirewall, update: func(_ *call, _, next *compute.Firewall) error { return checkFirewall(next) },
	}
}

func firewallActs() map[string]act {
	return firewalls().acts("insert", "get", "list", "delete", "patch")
}

func createFirewall(c *call, path string, f *compute.Firewall) error {
	f.Network = orElse(f.Network, "global/networks/default")
	network := c.pathOf(f.Network)
	if _, found := c.engine.networks.get(network); !found {
		return missingReference("network", f.Network)
	}
	f.Network, f.Direction = linkTo(network), orElse(f.Direction, "INGRESS")
	if _, given := c.sent()["priority"]; !given {
		f.Priority = 1000
	}
	// Without a source, a rule applies to all addresses.
	// https://cloud.google.com/firewall/docs/firewalls#sources_or_destinations_for_the_rule
	if f.Direction == "INGRESS" && len(f.SourceRanges)+len(f.SourceTags)+len(f.SourceServiceAccounts) == 0 {
		f.SourceRanges = []string{"0.0.0.0/0"}
	}
	if err := checkFirewall(f); err != nil {
		return err
	}
	return c.checkQuota(path, "FIREWALLS", 1)
}

var portRange = regexp.MustCompile(`^\d{1,5}(-\d{1,5})?$`)

// checkFirewall: https://cloud.google.com/firewall/docs/firewalls#firewall_rule_components
func checkFirewall(f *compute.Firewall) error {
	if (len(f.Allowed) == 0) == (len(f.Denied) == 0) {
		return invalid("Invalid value for field 'resource': exactly one of allowed and denied must be given.")
	}
	for _, a := range f.Allowed {
		for _, p := range a.Ports {
			if !portRange.MatchString(p) || a.IPProtocol == "all" || a.IPProtocol == "icmp" {
				return wrongField("allowed[0].ports[0]", p, "Ports are a number or a range, of tcp, udp or sctp.")
			}
		}
	}
	if len(f.TargetTags) > 0 && len(f.TargetServiceAccounts) > 0 || len(f.SourceTags) > 0 && len(f.SourceServiceAccounts) > 0 {
		return invalid("Tags and service accounts exclude each other.")
	}
	for _, r := range f.SourceRanges {
		if _, err := netip.ParsePrefix(r); err != nil {
			return wrongField("sourceRanges[0]", r, "Must be a CIDR address range.")
		}
	}
	return nil
}
