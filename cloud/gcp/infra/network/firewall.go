package network

import (
	"context"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Firewall is a firewall rule that allows ingress traffic. All other ingress is denied by the
// implied rule.
type Firewall struct {
	In      *mark.Cluster
	Network infra.Ref
	// Name describes the allowed traffic: "master-port".
	Name string
	// Ranges and SourceTags are the sources. A match of either suffices.
	Ranges     []netip.Prefix
	SourceTags []string
	// TargetTags are the network tags of the target instances.
	TargetTags []string
	// Ports are TCP ports: "8443". If it is empty, all protocols and ports are allowed.
	Ports []string

	infra.Learned
}

// ID returns the resource ID "gcp/firewall-rule/NAME".
func (f *Firewall) ID() string { return mark.ResourceID(mark.KindFirewall, f.Name) }

// Define implements infra.Defined.
func (f *Firewall) Define() infra.Definition[*compute.Firewall] {
	c := f.In.Clients
	d := mark.Define(f.In, Firewalls(f.In), f.Name, &f.Learned, f.Network)
	d.Create = func(ctx context.Context, _ string) error {
		rule := f.wantedRule()
		return mark.Insert(ctx, f.In, f.Define(), rule.Name, func() error {
			return api.Run(ctx, c, c.Compute.Firewalls.Insert(c.Project, rule))
		})
	}
	d.Compare = f.compareLive
	d.Change = func(ctx context.Context, _ []resource.Drift) error { return f.patchRule(ctx) }
	d.Retag = func(ctx context.Context, _ string, _ map[string]string) error { return f.patchRule(ctx) }
	d.Describe = func() []string {
		rule := f.wantedRule()
		return []string{allowedText(rule.Allowed) + " from " + sourceText(rule) + " to " + strings.Join(rule.TargetTags, ", ")}
	}
	return d
}

// patchRule sets all mutable attributes of the rule, including the mark in its description.
func (f *Firewall) patchRule(ctx context.Context) error {
	rule := f.wantedRule()
	rule.ForceSendFields = []string{
		"SourceRanges", "SourceTags", "SourceServiceAccounts", "DestinationRanges", "TargetTags", "TargetServiceAccounts", "Allowed", "Disabled",
	}
	return api.Run(ctx, f.In.Clients, f.In.Clients.Compute.Firewalls.Patch(f.In.Clients.Project, f.Identity(), rule))
}

// Priority is the priority of the cluster's rules, which is Google's default. Of two rules with the same
// priority, one that denies takes precedence.
const Priority = 1000

func (f *Firewall) wantedRule() *compute.Firewall {
	rule := &compute.Firewall{
		Name: f.In.FullName(f.Name), Description: f.In.Description(f.Name), Network: f.In.NetworkLink(f.Network),
		Direction: "INGRESS", Priority: Priority, SourceTags: f.SourceTags, TargetTags: f.TargetTags,
		Allowed: []*compute.FirewallAllowed{{IPProtocol: "all"}},
	}
	for _, r := range f.Ranges {
		rule.SourceRanges = append(rule.SourceRanges, r.String())
	}
	if len(f.Ports) > 0 {
		rule.Allowed = []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: f.Ports}}
	}
	return rule
}

func (f *Firewall) compareLive(_ context.Context, live *compute.Firewall) ([]resource.Drift, error) {
	want := f.wantedRule()
	return infra.Differences(
		infra.Fixed("network", path.Base(live.Network), path.Base(f.Network.Identity())),
		infra.Changeable("from", sourceText(live), sourceText(want)),
		infra.Changeable("to", targetText(live), targetText(want)),
		infra.Changeable("priority", strconv.FormatInt(live.Priority, 10), strconv.Itoa(Priority)),
		infra.Changeable("ports", allowedText(live.Allowed), allowedText(want.Allowed)),
		infra.Changeable("enforced", onOff(!live.Disabled), onOff(true)),
	), nil
}

func sourceText(rule *compute.Firewall) string {
	return sortedText(slices.Concat(rule.SourceRanges, rule.SourceTags, rule.SourceServiceAccounts))
}

func targetText(rule *compute.Firewall) string {
	return sortedText(slices.Concat(rule.TargetTags, rule.TargetServiceAccounts, rule.DestinationRanges))
}

func sortedText(list []string) string {
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}

func allowedText(allowed []*compute.FirewallAllowed) string {
	var out []string
	for _, a := range allowed {
		out = append(out, strings.TrimSuffix(a.IPProtocol+":"+sortedText(a.Ports), ":"))
	}
	return sortedText(out)
}

// Firewalls returns the kind of the cluster's firewall rules.
func Firewalls(c *mark.Cluster) mark.Kind[compute.Firewall] {
	return mark.KindOf(c, mark.KindFirewall, "", mark.Calls[compute.Firewall]{
		Get: func(ctx context.Context, name string) (*compute.Firewall, error) {
			return api.Do(ctx, c.Clients.Compute.Firewalls.Get(c.Clients.Project, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Firewalls.Delete(c.Clients.Project, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Firewall, error) {
			return api.List(ctx, c.Clients.Compute.Firewalls.List(c.Clients.Project).Filter(filter), func(p *compute.FirewallList) []*compute.Firewall { return p.Items })
		},
	}, func(f *compute.Firewall) infra.Observed {
		return infra.Observed{Identity: f.Name, Marks: mark.DescribedMarks(f.Description)}
	})
}
