package infra

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Profile hands a role to machines. Its identity is its name.
type Profile struct {
	In *Cluster
	// Name is whom it is for: "master".
	Name string
	// Role's identity is the role's name; it may be an existing one.
	Role Ref

	learned
	arn string
}

var _ resource.Updater = (*Profile)(nil)

// ARN names it in the master's configuration; it is empty before it was found or
// made.
func (p *Profile) ARN() string { return p.arn }

// ID is "aws/instance-profile/" and its name.
func (p *Profile) ID() string { return resourceID(KindProfile, p.Name) }

// Kind is KindProfile.
func (*Profile) Kind() string { return KindProfile }

// Needs its role.
func (p *Profile) Needs() []string { return needs(p.Role) }

func (p *Profile) profileName() string { return RoleName(p.In.ID, p.Name) }

// Find looks at it and at whose role it hands out.
func (p *Profile) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := p.In.profile(ctx, p.profileName())
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	if have := aws.ToString(live.Path); have != RolePath(p.In.ID) {
		return resource.Found{}, nil, foreign("iam:GetInstanceProfile", "instance profile "+p.profileName(), "its path is "+have)
	}
	p.id, p.arn = aws.ToString(live.InstanceProfileName), aws.ToString(live.Arn)
	var drift []resource.Drift
	if have := roleOf(live); have == "" || have != p.Role.Identity() {
		drift = append(drift, resource.Drift{Path: "role", Have: have, Want: name(p.Role)})
	}
	return resource.Found{Kind: KindProfile, ID: p.id, Name: p.Name}, drift, nil
}

// Create makes it and has it hand out the role.
func (p *Profile) Create(ctx context.Context) error {
	out, err := p.In.Clients.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: aws.String(p.profileName()), Path: aws.String(RolePath(p.In.ID)),
		Tags: iamTags(p.In.marks(p.Name, "")),
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return p.In.adopt(ctx, p)
	}
	if err != nil {
		return err
	}
	p.id, p.arn = p.profileName(), aws.ToString(out.InstanceProfile.Arn)
	return p.add(ctx)
}

// Update has it hand out the wanted role.
func (p *Profile) Update(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if d.Have != "" {
			if err := p.In.emptyProfile(ctx, p.id, d.Have); err != nil {
				return err
			}
		}
		if err := p.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) add(ctx context.Context) error {
	err := p.In.known(ctx, p.ID(), func() error {
		_, err := p.In.Clients.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
			InstanceProfileName: aws.String(p.id), RoleName: aws.String(p.Role.Identity()),
		})
		return err
	})
	// A profile has room for one role: when it has this one, that is Amazon's
	// refusal as well.
	if kind := cloud.KindOf(err); kind == cloud.Conflict || kind == cloud.Quota {
		if live, findErr := p.In.profile(ctx, p.id); findErr == nil && roleOf(live) == p.Role.Identity() {
			return nil
		}
	}
	return err
}

// Delete empties and removes it.
func (p *Profile) Delete(ctx context.Context) error { return p.In.deleteProfile(ctx, p.id) }

func (c *Cluster) deleteProfile(ctx context.Context, name string) error {
	return c.release(ctx, name, func() error {
		live, err := c.profile(ctx, name)
		if err != nil {
			return err
		}
		if role := roleOf(live); role != "" {
			if err := c.emptyProfile(ctx, name, role); err != nil {
				return err
			}
		}
		_, err = c.Clients.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
		return err
	})
}

func (c *Cluster) emptyProfile(ctx context.Context, name, role string) error {
	_, err := c.Clients.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: aws.String(name), RoleName: aws.String(role),
	})
	return gone(err)
}

func (c *Cluster) profile(ctx context.Context, name string) (*types.InstanceProfile, error) {
	out, err := c.Clients.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return nil, err
	}
	return out.InstanceProfile, nil
}

func roleOf(p *types.InstanceProfile) string {
	for _, r := range p.Roles {
		return aws.ToString(r.RoleName)
	}
	return ""
}

// profiles lists what is under the cluster's path. IAM lists no tags.
func profiles(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	p := iam.NewListInstanceProfilesPaginator(c.Clients.IAM, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(RolePath(c.ID))})
	all, err := pages(ctx, p, func(o *iam.ListInstanceProfilesOutput) []types.InstanceProfile { return o.InstanceProfiles })
	var out []resource.Found
	for _, live := range all {
		if aws.ToString(live.Path) == RolePath(c.ID) {
			n := aws.ToString(live.InstanceProfileName)
			out = append(out, resource.Found{Kind: KindProfile, ID: n, Name: c.shortName(n)})
		}
	}
	return out, err
}

// shortName is what a role or profile is for.
func (c *Cluster) shortName(n string) string { return strings.TrimPrefix(n, RoleName(c.ID, "")) }
