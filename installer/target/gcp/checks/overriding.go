package checks

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// checkOverriding reports rules of others that take precedence over the cluster's own. A rule may deny only a
// part of the traffic, so none makes the check fail. It ignores the policies of folders and of the organization.
func (c *checker) checkOverriding(ctx context.Context) doctor.Result {
	const needed = "no rule of the network that denies what the cluster's rules allow"
	at := c.place()
	if c.Spec.Network.Own() {
		at.Network = c.Owner.FullName("")
	}
	rules, err := c.facts.FirewallRules(ctx, at)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	addresses, err := c.subnetworkRange(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	var odd []string
	for _, r := range rules {
		if len(r.Denied) == 0 || r.Disabled || mark.DescribedMarks(r.Description)[mark.ClusterLabel] == c.Spec.Cluster {
			continue
		}
		wrong, soft := closedFlows([]*compute.Firewall{r, allowAll()}, c.flows(addresses))
		for _, what := range slices.Concat(wrong, soft) {
			odd = append(odd, fmt.Sprintf("by rule %s, %s", r.Name, what))
		}
	}
	if len(odd) > 0 {
		return doctor.Unsure(strings.Join(odd, "; "), needed, fmt.Sprintf("delete the rule, or set its priority to more than %d with `gcloud compute firewall-rules update`", network.Priority))
	}
	return doctor.Passed("the cluster's own rules apply")
}

// subnetworkRange returns the addresses of the machines.
func (c *checker) subnetworkRange(ctx context.Context) (netip.Prefix, error) {
	if c.Spec.Network.Own() {
		return netip.ParsePrefix(c.Spec.Network.CIDR)
	}
	return c.facts.Range(ctx, c.place())
}

// allowAll stands for the cluster's rules.
func allowAll() *compute.Firewall {
	return &compute.Firewall{Priority: network.Priority, SourceRanges: []string{"0.0.0.0/0", "::/0"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "all"}}}
}
