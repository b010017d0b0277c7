package network

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const (
	ingressPath = "ingress["
	egressPath  = "egress[all]"
	open        = "open"
	closed      = "closed"
)

// Rules is the exact set of ingress rules of one of the cluster's security groups. All egress is
// allowed.
type Rules struct {
	In *mark.Cluster
	// Name is the name of the group.
	Name    string
	Group   infra.Ref
	Ingress []Rule

	infra.Learned
}

var _ resource.Updater = (*Rules)(nil)

// ID returns the resource ID "aws/security-rules/NAME", with the name of the group.
func (r *Rules) ID() string { return mark.ResourceID(mark.KindRules, r.Name) }

// Kind returns KindRules.
func (*Rules) Kind() string { return mark.KindRules }

// Needs returns the IDs of the group and of the groups in its rules.
func (r *Rules) Needs() []string {
	refs := []infra.Ref{r.Group}
	for _, rule := range r.Ingress {
		refs = append(refs, rule.Group)
	}
	out := infra.NeedsOf(refs...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Find compares the ingress rules.
func (r *Rules) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if r.Group.Identity() == "" || slices.ContainsFunc(r.Ingress, func(rule Rule) bool { return rule.sourceName() == "" }) {
		return resource.Found{}, nil, nil
	}
	var live types.SecurityGroup
	err := r.In.Waiter().LookUpListed(ctx, r.ID(), func() (err error) {
		live, err = describeGroup(ctx, r.In, r.Group.Identity())
		return err
	})
	if cloud.KindOf(err) == cloud.NotFound {
		return resource.Found{}, nil, nil
	}
	if err != nil {
		return resource.Found{}, nil, err
	}
	r.Learn(r.Group.Identity())
	return resource.Found{Kind: mark.KindRules, ID: r.Identity(), Name: r.Name}, r.rulesDrift(live), nil
}

// Describe returns the ingress rules for a plan.
func (r *Rules) Describe() []string {
	out := make([]string, len(r.Ingress))
	for i, rule := range r.Ingress {
		out[i] = "admits " + rule.describeRule() + ": " + rule.Why
	}
	return out
}

func (r *Rules) rulesDrift(live types.SecurityGroup) []resource.Drift {
	have, want := splitPermissions(live.IpPermissions), r.wantedPermissions()
	var out []resource.Drift
	for _, k := range sortKeys(slices.Collect(maps.Keys(want))) {
		if _, ok := have[k]; !ok {
			out = append(out, resource.Drift{Path: ingressPath + k + "]", Have: closed, Want: open})
		}
	}
	for _, k := range sortKeys(slices.Collect(maps.Keys(have))) {
		if _, ok := want[k]; !ok {
			out = append(out, resource.Drift{Path: ingressPath + k + "]", Have: open, Want: closed})
		}
	}
	if _, ok := splitPermissions(live.IpPermissionsEgress)["all from "+everywhere]; !ok {
		out = append(out, resource.Drift{Path: egressPath, Have: closed, Want: open})
	}
	return out
}

func (r *Rules) wantedPermissions() map[string]types.IpPermission {
	out := make(map[string]types.IpPermission, len(r.Ingress))
	for _, rule := range r.Ingress {
		out[rule.planKey()] = rule.ipPermission()
	}
	return out
}

// Create authorizes the ingress rules.
func (r *Rules) Create(ctx context.Context) error {
	r.Learn(r.Group.Identity())
	var live types.SecurityGroup
	err := r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() (err error) {
		live, err = describeGroup(ctx, r.In, r.Identity())
		return err
	})
	if err != nil {
		return err
	}
	return r.Update(ctx, r.rulesDrift(live))
}

// Update authorizes missing rules and revokes additional ones. It authorizes first, so that no
// client is cut off in between.
func (r *Rules) Update(ctx context.Context, drift []resource.Drift) error {
	var opening, closing []types.IpPermission
	want := r.wantedPermissions()
	live, err := describeGroup(ctx, r.In, r.Identity())
	if err != nil {
		return err
	}
	have := splitPermissions(live.IpPermissions)
	for _, d := range drift {
		key := strings.TrimSuffix(strings.TrimPrefix(d.Path, ingressPath), "]")
		rule, wanted := want[key]
		old, there := have[key]
		switch {
		case wanted && !there:
			opening = append(opening, rule)
		case there && !wanted:
			closing = append(closing, old)
		}
		if d.Path == egressPath {
			if err := r.letOut(ctx); err != nil {
				return err
			}
		}
	}
	if len(opening) > 0 {
		if err := r.authorizeIngress(ctx, opening); err != nil {
			return err
		}
	}
	return revokeIngress(ctx, r.In, r.Identity(), closing)
}

// authorizeIngress authorizes rules in one call. If EC2 rejects it because one rule already exists,
// it authorizes them one by one.
func (r *Rules) authorizeIngress(ctx context.Context, ps []types.IpPermission) error {
	err := r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() error {
		_, err := r.In.Clients.EC2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: aws.String(r.Identity()), IpPermissions: ps,
		})
		return err
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	if len(ps) == 1 {
		return nil // the rule already exists
	}
	for _, p := range ps {
		if err := r.authorizeIngress(ctx, []types.IpPermission{p}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) letOut(ctx context.Context) error {
	_, err := r.In.Clients.EC2.AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{
		GroupId: aws.String(r.Identity()),
		IpPermissions: []types.IpPermission{{
			IpProtocol: aws.String(everything), IpRanges: []types.IpRange{{CidrIp: aws.String(everywhere)}},
		}},
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return nil
	}
	return err
}

// Delete revokes all ingress rules, so that groups that refer to each other can be deleted.
func (r *Rules) Delete(ctx context.Context) error { return CloseRules(ctx, r.In, r.Identity()) }

// CloseRules revokes all ingress rules of a group, so that groups that refer to each other can be
// deleted.
func CloseRules(ctx context.Context, c *mark.Cluster, id string) error {
	live, err := describeGroup(ctx, c, id)
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	return infra.IgnoreMissing(revokeIngress(ctx, c, id, slices.Collect(maps.Values(splitPermissions(live.IpPermissions)))))
}

func revokeIngress(ctx context.Context, c *mark.Cluster, id string, ps []types.IpPermission) error {
	if len(ps) == 0 {
		return nil
	}
	_, err := c.Clients.EC2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{
		GroupId: aws.String(id), IpPermissions: ps,
	})
	if cloud.KindOf(err) != cloud.NotFound || len(ps) == 1 {
		return infra.IgnoreMissing(err) // a missing rule is already revoked
	}
	// One of the rules is already revoked, so EC2 has rejected the whole call.
	for _, p := range ps {
		if err := revokeIngress(ctx, c, id, []types.IpPermission{p}); err != nil {
			return err
		}
	}
	return nil
}

// describeGroup returns a security group of the cluster or the user.
func describeGroup(ctx context.Context, c *mark.Cluster, id string) (types.SecurityGroup, error) {
	out, err := c.Clients.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return types.SecurityGroup{}, err
	}
	if len(out.SecurityGroups) == 0 {
		return types.SecurityGroup{}, infra.Missing("ec2:DescribeSecurityGroups", id)
	}
	return out.SecurityGroups[0], nil
}

// ListRules returns the cluster's security groups that have ingress rules.
func ListRules(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := Groups(c).All(ctx, c.Owned())
	var out []resource.Found
	for _, g := range all {
		if len(g.Object.IpPermissions) > 0 {
			out = append(out, resource.Found{Kind: mark.KindRules, ID: g.Identity, Name: g.Marks[mark.ResourceTag]})
		}
	}
	return out, err
}
