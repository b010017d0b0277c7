package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Group is a security group, without its rules: two groups may mention each
// other, so rules come when both are there.
type Group struct {
	In *Cluster
	// Name is whom it protects: "master".
	Name string
	VPC  Ref

	learned
	nonced
}

var (
	_ resource.Updater = (*Group)(nil)
	_ resource.Nonced  = (*Group)(nil)
)

// ID is "aws/security-group/" and its name.
func (g *Group) ID() string { return resourceID(KindGroup, g.Name) }

// Kind is KindGroup.
func (*Group) Kind() string { return KindGroup }

// Needs its network.
func (g *Group) Needs() []string { return needs(g.VPC) }

// Find looks at it.
func (g *Group) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if g.VPC.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	s, found, err := groups().named(ctx, g.In, g.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	g.id = s.id
	drift := tagDrift(s.tags, g.In.chosen(g.Name))
	if have := aws.ToString(s.live.VpcId); have != g.VPC.Identity() {
		drift = append(drift, resource.Drift{Path: "vpc", Have: have, Want: g.VPC.Identity(), Replace: true})
	}
	return found, drift, nil
}

// CreateOnce makes it. Amazon lets everything out of a new group and nothing in.
func (g *Group) CreateOnce(ctx context.Context, nonce string) error {
	err := g.In.known(ctx, g.ID(), func() error {
		out, err := g.In.Clients.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			GroupName: aws.String(g.In.displayName(g.Name)), VpcId: aws.String(g.VPC.Identity()),
			Description:       aws.String("det-deploy cluster " + g.In.ID + ": " + g.Name),
			TagSpecifications: tagSpec(types.ResourceTypeSecurityGroup, g.In.marks(g.Name, nonce)),
		})
		if err == nil {
			g.id = aws.ToString(out.GroupId)
		}
		return err
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// Its name is taken: by ourselves, when the list did not show it yet.
	found, _, findErr := g.Find(ctx)
	if findErr == nil && found.Exists() {
		return nil
	}
	return err
}

// Made lists what was made under nonce.
func (g *Group) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return groups().made(ctx, g.In, nonce)
}

// Update changes tags.
func (g *Group) Update(ctx context.Context, drift []resource.Drift) error {
	return g.In.retag(ctx, g.id, drift)
}

// Delete removes it, once the machines in it are gone.
func (g *Group) Delete(ctx context.Context) error { return g.In.deleteGroup(ctx, g.id) }

func (c *Cluster) deleteGroup(ctx context.Context, id string) error {
	return c.blame(ctx, "group-id", id, c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
		return err
	}))
}

func groups() kind[types.SecurityGroup] {
	return kind[types.SecurityGroup]{
		name: KindGroup,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.SecurityGroup, error) {
			p := ec2.NewDescribeSecurityGroupsPaginator(c.Clients.EC2, &ec2.DescribeSecurityGroupsInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeSecurityGroupsOutput) []types.SecurityGroup { return o.SecurityGroups })
		},
		look: func(g types.SecurityGroup) sight {
			return sight{id: aws.ToString(g.GroupId), tags: ec2TagMap(g.Tags), used: len(g.IpPermissions) > 0}
		},
	}
}
