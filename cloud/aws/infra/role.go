package infra

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// trustMachines lets machines take a role.
const trustMachines = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// Role is what a machine may do. Its name is unique in the account, and its path
// tells whose it is.
type Role struct {
	In *Cluster
	// Name is whom it is for: "master".
	Name string
	// Policies are its documents, by name. Others that are written into it are taken
	// away; managed ones that somebody attached stay until it goes.
	Policies map[string]string

	learned
	arn string
}

var _ resource.Updater = (*Role)(nil)

// RoleName is how the role of a cluster's master or agents is called.
func RoleName(cluster, name string) string { return "det-deploy-" + cluster + "-" + name }

// RolePath is the path under which a cluster's roles and profiles are.
func RolePath(cluster string) string { return clusterPathStart + cluster + "/" }

// ARN names it in policies; it is empty before it was found or made.
func (r *Role) ARN() string { return r.arn }

// ID is "aws/role/" and its name.
func (r *Role) ID() string { return resourceID(KindRole, r.Name) }

// Kind is KindRole.
func (*Role) Kind() string { return KindRole }

// Needs nothing.
func (*Role) Needs() []string { return nil }

func (r *Role) roleName() string { return RoleName(r.In.ID, r.Name) }

// Find looks at it and at its policies.
func (r *Role) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := r.In.role(ctx, r.roleName())
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	if have := aws.ToString(live.Path); have != RolePath(r.In.ID) {
		return resource.Found{}, nil, foreign("iam:GetRole", "role "+r.roleName(), "its path is "+have)
	}
	r.id, r.arn = aws.ToString(live.RoleName), aws.ToString(live.Arn)
	tags := tagMap(live.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
	drift := tagDrift(tags, r.In.marks(r.Name, ""))
	if !sameDocument(unescape(aws.ToString(live.AssumeRolePolicyDocument)), trustMachines) {
		drift = append(drift, resource.Drift{Path: "trust", Have: "others", Want: "machines"})
	}
	policies, err := r.policyDrift(ctx)
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	return resource.Found{Kind: KindRole, ID: r.id, Name: r.Name}, append(drift, policies...), nil
}

// Create makes it, and gives it its policies.
func (r *Role) Create(ctx context.Context) error {
	in := &iam.CreateRoleInput{
		RoleName: aws.String(r.roleName()), Path: aws.String(RolePath(r.In.ID)),
		AssumeRolePolicyDocument: aws.String(trustMachines),
		Description:              aws.String("det-deploy cluster " + r.In.ID + ": " + r.Name),
		Tags:                     iamTags(r.In.marks(r.Name, "")),
	}
	out, err := r.In.Clients.IAM.CreateRole(ctx, in)
	switch {
	case cloud.KindOf(err) == cloud.Conflict:
		return r.In.adopt(ctx, r)
	case err != nil:
		return err
	}
	r.id, r.arn = r.roleName(), aws.ToString(out.Role.Arn)
	for _, n := range slices.Sorted(maps.Keys(r.Policies)) {
		if err := r.put(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// Update changes tags, trust and policies.
func (r *Role) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := tagged(drift); len(tags) > 0 {
		_, err := r.In.Clients.IAM.TagRole(ctx, &iam.TagRoleInput{RoleName: aws.String(r.id), Tags: iamTags(tags)})
		if err != nil {
			return err
		}
	}
	for _, d := range drift {
		if d.Path != "trust" {
			continue
		}
		_, err := r.In.Clients.IAM.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{
			RoleName: aws.String(r.id), PolicyDocument: aws.String(trustMachines),
		})
		if err != nil {
			return err
		}
	}
	return r.updatePolicies(ctx, drift)
}

// Delete takes its policies away and removes it.
func (r *Role) Delete(ctx context.Context) error { return r.In.deleteRole(ctx, r.id) }

func (c *Cluster) deleteRole(ctx context.Context, name string) error {
	return c.release(ctx, name, func() error {
		if err := c.stripRole(ctx, name); err != nil {
			return err
		}
		_, err := c.Clients.IAM.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(name)})
		return err
	})
}

// stripRole takes away what a role must not have when it is removed.
func (c *Cluster) stripRole(ctx context.Context, name string) error {
	inline, err := c.inlinePolicies(ctx, name)
	if err != nil {
		return err
	}
	for _, p := range inline {
		_, err := c.Clients.IAM.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String(name), PolicyName: aws.String(p)})
		if gone(err) != nil {
			return err
		}
	}
	managed, err := c.managedPolicies(ctx, name)
	if err != nil {
		return err
	}
	for _, p := range managed {
		_, err := c.Clients.IAM.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(p)})
		if gone(err) != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) role(ctx context.Context, name string) (*types.Role, error) {
	out, err := c.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	if err != nil {
		return nil, err
	}
	return out.Role, nil
}

// roles lists what is under the cluster's path. IAM lists no tags.
func roles(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	p := iam.NewListRolesPaginator(c.Clients.IAM, &iam.ListRolesInput{PathPrefix: aws.String(RolePath(c.ID))})
	all, err := pages(ctx, p, func(o *iam.ListRolesOutput) []types.Role { return o.Roles })
	var out []resource.Found
	for _, r := range all {
		if aws.ToString(r.Path) == RolePath(c.ID) {
			out = append(out, resource.Found{Kind: KindRole, ID: aws.ToString(r.RoleName), Name: c.shortName(aws.ToString(r.RoleName))})
		}
	}
	return out, err
}

func iamTags(tags map[string]string) []types.Tag {
	return tagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}

// unescape reads a document as IAM returns it.
func unescape(document string) string {
	if plain, err := url.QueryUnescape(document); err == nil {
		return plain
	}
	return document
}
