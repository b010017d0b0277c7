package identity

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Profile is an instance profile, which passes a role to instances. Its identity is its name.
type Profile struct {
	In *mark.Cluster
	// Name is the role's purpose: "master".
	Name string
	// Role refers to the role by name. It may be an existing one.
	Role infra.Ref

	infra.Learned
	arn string
	// begun reports whether the profile was created and has no role yet.
	begun bool
}

var _ resource.Updater = (*Profile)(nil)

// ARN returns the ARN for the master's configuration. It is empty until the profile was found or
// created.
func (p *Profile) ARN() string { return p.arn }

// ID returns the resource ID "aws/instance-profile/NAME".
func (p *Profile) ID() string { return mark.ResourceID(mark.KindProfile, p.Name) }

// Kind returns KindProfile.
func (*Profile) Kind() string { return mark.KindProfile }

// Needs returns the ID of its role.
func (p *Profile) Needs() []string { return infra.NeedsOf(p.Role) }

func (p *Profile) profileName() string { return RoleName(p.In.ID, p.Name) }

// Find finds the profile and compares its role.
func (p *Profile) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := describeProfile(ctx, p.In, p.profileName())
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	if have := aws.ToString(live.Path); have != RolePath(p.In.ID) {
		return resource.Found{}, nil, infra.Foreign("iam:GetInstanceProfile", "instance profile "+p.profileName(), "its path is "+have)
	}
	p.Learn(aws.ToString(live.InstanceProfileName))
	p.arn = aws.ToString(live.Arn)
	var drift []resource.Drift
	if have := roleOf(live); have == "" || have != p.Role.Identity() {
		drift = append(drift, resource.Drift{Path: "role", Have: have, Want: infra.NameOf(p.Role)})
	}
	return resource.Found{Kind: mark.KindProfile, ID: p.Identity(), Name: p.Name}, drift, nil
}

// begin creates the profile concurrently with its role, unless Find has found it. The returned
// function waits for completion. After an error, Create tries again.
func (p *Profile) begin(ctx context.Context) (wait func()) {
	if p.Identity() != "" {
		return func() {}
	}
	var made sync.WaitGroup
	made.Go(func() { p.begun = p.createEmpty(ctx) == nil })
	return made.Wait
}

// Create creates the profile and adds the role to it.
func (p *Profile) Create(ctx context.Context) error {
	if !p.begun {
		err := p.createEmpty(ctx)
		if cloud.KindOf(err) == cloud.Conflict {
			return p.In.Waiter().Adopt(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return p.addRole(ctx)
}

// createEmpty creates the profile without a role.
func (p *Profile) createEmpty(ctx context.Context) error {
	out, err := p.In.Clients.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: aws.String(p.profileName()), Path: aws.String(RolePath(p.In.ID)),
		Tags: iamTags(p.In.Marks(p.Name, "")),
	})
	if err != nil {
		return err
	}
	p.Learn(p.profileName())
	p.arn = aws.ToString(out.InstanceProfile.Arn)
	return nil
}

// Update replaces the profile's role.
func (p *Profile) Update(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if d.Have != "" {
			if err := emptyProfile(ctx, p.In, p.Identity(), d.Have); err != nil {
				return err
			}
		}
		if err := p.addRole(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) addRole(ctx context.Context) error {
	err := p.In.Waiter().RetryUntilKnown(ctx, p.ID(), func() error {
		_, err := p.In.Clients.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
			InstanceProfileName: aws.String(p.Identity()), RoleName: aws.String(p.Role.Identity()),
		})
		return err
	})
	// A profile has one role. If it already has this role, Amazon returns the same error.
	if kind := cloud.KindOf(err); kind == cloud.Conflict || kind == cloud.Quota {
		if live, findErr := describeProfile(ctx, p.In, p.Identity()); findErr == nil && roleOf(live) == p.Role.Identity() {
			return nil
		}
	}
	return err
}

// Delete removes the profile's role and deletes the profile.
func (p *Profile) Delete(ctx context.Context) error { return DeleteProfile(ctx, p.In, p.Identity()) }

// DeleteProfile removes the role of a profile and deletes the profile.
func DeleteProfile(ctx context.Context, c *mark.Cluster, name string) error {
	return c.Waiter().RetryWhileInUse(ctx, name, func() error {
		live, err := describeProfile(ctx, c, name)
		if err != nil {
			return err
		}
		if role := roleOf(live); role != "" {
			if err := emptyProfile(ctx, c, name, role); err != nil {
				return err
			}
		}
		_, err = c.Clients.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
		return err
	})
}

func emptyProfile(ctx context.Context, c *mark.Cluster, name, role string) error {
	_, err := c.Clients.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: aws.String(name), RoleName: aws.String(role),
	})
	return infra.IgnoreMissing(err)
}

func describeProfile(ctx context.Context, c *mark.Cluster, name string) (*types.InstanceProfile, error) {
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

// ListProfiles returns the instance profiles below the cluster's path, because IAM's lists contain
// no tags.
func ListProfiles(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	p := iam.NewListInstanceProfilesPaginator(c.Clients.IAM, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(RolePath(c.ID))})
	all, err := mark.Pages(ctx, p, func(o *iam.ListInstanceProfilesOutput) []types.InstanceProfile { return o.InstanceProfiles })
	var out []resource.Found
	for _, live := range all {
		if aws.ToString(live.Path) == RolePath(c.ID) {
			n := aws.ToString(live.InstanceProfileName)
			out = append(out, resource.Found{Kind: mark.KindProfile, ID: n, Name: shortName(c, n)})
		}
	}
	return out, err
}

// shortName returns the purpose of a role or profile.
func shortName(c *mark.Cluster, n string) string { return strings.TrimPrefix(n, RoleName(c.ID, "")) }
