// Package identity manages the permissions of a cluster's instances: IAM roles and instance
// profiles.
package identity

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// trustMachines allows EC2 instances to assume a role.
const trustMachines = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// Role is an IAM role for instances. Its name is unique in the account, and its path identifies the
// cluster.
type Role struct {
	In *mark.Cluster
	// Name is the purpose: "master".
	Name string
	// Policies holds the inline policies by name. Others are deleted. Managed policies attached by
	// a user remain until the role is deleted.
	Policies map[string]string
	// Profile is created concurrently with the role if necessary. It may be nil.
	Profile *Profile

	infra.Learned
	arn string
}

var _ resource.Updater = (*Role)(nil)

// RoleName returns the name of the role of a cluster's master or agents.
func RoleName(cluster, name string) string { return "det-deploy-" + cluster + "-" + name }

// RolePath returns the path of a cluster's roles and profiles.
func RolePath(cluster string) string { return mark.PathStart + cluster + "/" }

// ID returns the resource ID "aws/role/NAME".
func (r *Role) ID() string { return mark.ResourceID(mark.KindRole, r.Name) }

// Kind returns KindRole.
func (*Role) Kind() string { return mark.KindRole }

// Needs returns nil.
func (*Role) Needs() []string { return nil }

func (r *Role) roleName() string { return RoleName(r.In.ID, r.Name) }

// Find finds the role and compares its tags, trust policy and inline policies.
func (r *Role) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := describeRole(ctx, r.In, r.roleName())
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	if have := aws.ToString(live.Path); have != RolePath(r.In.ID) {
		return resource.Found{}, nil, infra.Foreign("iam:GetRole", "role "+r.roleName(), "its path is "+have)
	}
	r.Learn(aws.ToString(live.RoleName))
	r.arn = aws.ToString(live.Arn)
	tags := mark.TagMap(live.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
	drift := infra.MarkDrift(tags, r.In.Marks(r.Name, ""))
	if !sameDocument(unescapePolicy(aws.ToString(live.AssumeRolePolicyDocument)), trustMachines) {
		drift = append(drift, resource.Drift{Path: "trust", Have: "others", Want: "machines"})
	}
	policies, err := r.policyDrift(ctx)
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	return resource.Found{Kind: mark.KindRole, ID: r.Identity(), Name: r.Name}, append(drift, policies...), nil
}

// Create creates the role with its inline policies.
func (r *Role) Create(ctx context.Context) error {
	in := &iam.CreateRoleInput{
		RoleName: aws.String(r.roleName()), Path: aws.String(RolePath(r.In.ID)),
		AssumeRolePolicyDocument: aws.String(trustMachines),
		Description:              aws.String("det-deploy cluster " + r.In.ID + ": " + r.Name),
		Tags:                     iamTags(r.In.Marks(r.Name, "")),
	}
	if r.Profile != nil {
		defer r.Profile.begin(ctx)()
	}
	out, err := r.In.Clients.IAM.CreateRole(ctx, in)
	switch {
	case cloud.KindOf(err) == cloud.Conflict:
		return r.In.Waiter().Adopt(ctx, r)
	case err != nil:
		return err
	}
	r.Learn(r.roleName())
	r.arn = aws.ToString(out.Role.Arn)
	for _, n := range slices.Sorted(maps.Keys(r.Policies)) {
		if err := r.putPolicy(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// Update corrects tags, trust policy and inline policies.
func (r *Role) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := infra.WantedMarks(drift); len(tags) > 0 {
		_, err := r.In.Clients.IAM.TagRole(ctx, &iam.TagRoleInput{RoleName: aws.String(r.Identity()), Tags: iamTags(tags)})
		if err != nil {
			return err
		}
	}
	for _, d := range drift {
		if d.Path != "trust" {
			continue
		}
		_, err := r.In.Clients.IAM.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{
			RoleName: aws.String(r.Identity()), PolicyDocument: aws.String(trustMachines),
		})
		if err != nil {
			return err
		}
	}
	return r.updatePolicies(ctx, drift)
}

// Delete removes the policies of the role and deletes the role.
func (r *Role) Delete(ctx context.Context) error { return DeleteRole(ctx, r.In, r.Identity()) }

// DeleteRole removes the policies of a role and deletes the role.
func DeleteRole(ctx context.Context, c *mark.Cluster, name string) error {
	return c.Waiter().RetryWhileInUse(ctx, name, func() error {
		if err := stripRole(ctx, c, name); err != nil {
			return err
		}
		_, err := c.Clients.IAM.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(name)})
		return err
	})
}

// stripRole removes the policies and profiles that prevent the deletion of a role.
func stripRole(ctx context.Context, c *mark.Cluster, name string) error {
	inline, err := listInlinePolicies(ctx, c, name)
	if err != nil {
		return err
	}
	for _, p := range inline {
		_, err := c.Clients.IAM.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String(name), PolicyName: aws.String(p)})
		if infra.IgnoreMissing(err) != nil {
			return err
		}
	}
	managed, err := listManagedPolicies(ctx, c, name)
	if err != nil {
		return err
	}
	for _, p := range managed {
		_, err := c.Clients.IAM.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(p)})
		if infra.IgnoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

func describeRole(ctx context.Context, c *mark.Cluster, name string) (*types.Role, error) {
	out, err := c.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	if err != nil {
		return nil, err
	}
	return out.Role, nil
}

// ListRoles returns the roles below the cluster's path, because IAM's lists contain no tags.
func ListRoles(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	p := iam.NewListRolesPaginator(c.Clients.IAM, &iam.ListRolesInput{PathPrefix: aws.String(RolePath(c.ID))})
	all, err := mark.Pages(ctx, p, func(o *iam.ListRolesOutput) []types.Role { return o.Roles })
	var out []resource.Found
	for _, r := range all {
		if aws.ToString(r.Path) == RolePath(c.ID) {
			out = append(out, resource.Found{Kind: mark.KindRole, ID: aws.ToString(r.RoleName), Name: shortName(c, aws.ToString(r.RoleName))})
		}
	}
	return out, err
}

func iamTags(tags map[string]string) []types.Tag {
	return mark.TagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}

// unescapePolicy decodes a policy document as returned by IAM.
func unescapePolicy(document string) string {
	if plain, err := url.QueryUnescape(document); err == nil {
		return plain
	}
	return document
}
