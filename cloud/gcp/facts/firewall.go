package facts

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

// Machine holds the attributes of an instance that firewall rules refer to.
type Machine struct {
	Tags []string
	// Account is the email of its service account. It is empty if it is not known yet.
	Account string
}

// Traffic describes connections to some TCP ports of instances, or from instances to an address
// range.
type Traffic struct {
	// Machine is the target to which rules apply.
	Machine Machine
	// From is the source instance and Range its addresses, or those of the client. Outgoing traffic
	// goes to Range.
	From        *Machine
	Range       netip.Prefix
	First, Last int
	Outgoing    bool
}

// Passes reports whether a network's firewall rules allow traffic. The first rule that covers all
// of it decides, as does one that denies a part of it. Without such a rule, the implied rules
// apply: ingress is denied, egress is allowed.
func Passes(rules []*compute.Firewall, t Traffic) bool {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b *compute.Firewall) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(len(a.Allowed), len(b.Allowed))) // deny rules take precedence
	})
	for _, r := range sorted {
		if (r.Direction == "EGRESS") != t.Outgoing || !appliesTo(r, t.Machine) {
			continue
		}
		if t.isDeniedBy(r) {
			return false
		}
		if t.isAllowedBy(r) {
			return true
		}
	}
	return t.Outgoing
}

// appliesTo reports whether an instance is a target of a rule.
func appliesTo(r *compute.Firewall, m Machine) bool {
	switch {
	case len(r.TargetTags) > 0:
		return overlap(r.TargetTags, m.Tags)
	case len(r.TargetServiceAccounts) > 0:
		return m.Account != "" && slices.Contains(r.TargetServiceAccounts, m.Account)
	}
	return true
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func (t Traffic) isAllowedBy(r *compute.Firewall) bool {
	return slices.ContainsFunc(r.Allowed, func(a *compute.FirewallAllowed) bool {
		return t.hasPorts(a.IPProtocol, a.Ports, func(first, last int) bool { return first <= t.First && last >= t.Last })
	}) && t.comesFrom(r, func(have netip.Prefix) bool { return have.Bits() <= t.Range.Bits() && have.Contains(t.Range.Addr()) })
}

func (t Traffic) isDeniedBy(r *compute.Firewall) bool {
	return slices.ContainsFunc(r.Denied, func(d *compute.FirewallDenied) bool {
		return t.hasPorts(d.IPProtocol, d.Ports, func(first, last int) bool { return first <= t.Last && last >= t.First })
	}) && t.comesFrom(r, func(have netip.Prefix) bool { return have.Overlaps(t.Range) })
}

// hasPorts reports whether a rule covers the ports of the traffic. A rule without ports covers all.
func (t Traffic) hasPorts(protocol string, ports []string, has func(first, last int) bool) bool {
	if protocol != "all" && protocol != "tcp" && protocol != "6" {
		return false
	}
	return protocol == "all" || len(ports) == 0 || slices.ContainsFunc(ports, func(text string) bool {
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		return err1 == nil && err2 == nil && has(first, last)
	})
}

// comesFrom reports whether a rule covers the source or the destination of the traffic.
func (t Traffic) comesFrom(r *compute.Firewall, has func(netip.Prefix) bool) bool {
	if t.From != nil && (overlap(r.SourceTags, t.From.Tags) || t.From.Account != "" && slices.Contains(r.SourceServiceAccounts, t.From.Account)) {
		return true
	}
	ranges := r.SourceRanges
	if t.Outgoing {
		ranges = r.DestinationRanges
	}
	return slices.ContainsFunc(ranges, func(text string) bool {
		have, err := netip.ParsePrefix(text)
		return err == nil && t.Range.IsValid() && has(have)
	})
}
