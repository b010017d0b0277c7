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

// Rules are exactly the ingress rules of a group of ours; all egress is allowed.
type Rules struct {
	In *mark.Cluster
	// Name is the group's.
	Name    string
	Group   infra.Ref
	Ingress []Rule

	infra.Learned
}

var _ resource.Updater = (*Rules)(nil)

// ID is "aws/security-rules/" and its group's name.
func (r *Rules) ID() string { return mark.ResourceID(mark.KindRules, r.Name) }

// Kind is KindRules.
func (*Rules) Kind() string { return mark.KindRules }

// Needs its group and those it mentions.
func (r *Rules) Needs() []string {
	refs := []infra.Ref{r.Group}
	for _, rule := range r.Ingress {
		refs = append(refs, rule.Group)
	}
	out := infra.NeedsOf(refs...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Find compares what is open with what should be.
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

// Describe lists the ingress rules, a port and a source each.
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

// Create opens what should be open.
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

// Update opens and closes. It opens first, so that no client is cut off between.
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

// authorizeIngress opens one by one when all at once is refused because one is open
// already.
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
		return nil // it is open
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

// Delete closes everything, so that groups that mention each other can go.
func (r *Rules) Delete(ctx context.Context) error { return CloseRules(ctx, r.In, r.Identity()) }

// CloseRules revokes all ingress rules of a group, so that groups that refer to each other can be deleted.
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
		return infra.IgnoreMissing(err) // a rule that is not there is closed
	}
	// One of them is closed already, and so none was touched.
	for _, p := range ps {
		if err := revokeIngress(ctx, c, id, []types.IpPermission{p}); err != nil {
			return err
		}
	}
	return nil
}

// describeGroup looks at one security group, ours or the user's.
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

// ListRules lists the rules of our groups that let something in.
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
