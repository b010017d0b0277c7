package network

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Group is a security group without its rules. The rules are separate resources, because two groups
// may refer to each other.
type Group struct {
	In *mark.Cluster
	// Name is the role of the protected instances: "master".
	Name string
	VPC  infra.Ref

	infra.Learned
}

// ID returns the resource ID "aws/security-group/NAME".
func (g *Group) ID() string { return mark.ResourceID(mark.KindGroup, g.Name) }

// Define implements infra.Defined.
func (g *Group) Define() infra.Definition[types.SecurityGroup] {
	d := mark.Define(g.In, Groups(g.In), g.Name, &g.Learned, g.VPC)
	d.Needed = []infra.Ref{g.VPC}
	d.Create = g.createGroup
	d.Compare = func(_ context.Context, live types.SecurityGroup) ([]resource.Drift, error) {
		return infra.Differences(infra.Fixed("vpc", aws.ToString(live.VpcId), g.VPC.Identity())), nil
	}
	return d
}

// createGroup creates the group. A new group allows all egress and no ingress.
func (g *Group) createGroup(ctx context.Context, nonce string) error {
	err := g.In.Waiter().RetryUntilKnown(ctx, g.ID(), func() error {
		out, err := g.In.Clients.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
			GroupName: aws.String(g.In.DisplayName(g.Name)), VpcId: aws.String(g.VPC.Identity()),
			Description:       aws.String("det-deploy cluster " + g.In.ID + ": " + g.Name),
			TagSpecifications: mark.TagSpec(types.ResourceTypeSecurityGroup, g.In.Marks(g.Name, nonce)),
		})
		if err == nil {
			g.Learn(aws.ToString(out.GroupId))
		}
		return err
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// The name is taken, possibly by this cluster if the list did not show the group yet.
	found, _, findErr := infra.Nonced(g).Find(ctx)
	if findErr == nil && found.Exists() {
		return nil
	}
	return err
}

func deleteGroup(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileHeld(ctx, id, interfaceHolder(c, "group-id", id), func() error {
		_, err := c.Clients.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
		return err
	})
}

// Groups returns the kind of the cluster's security groups. A group can be deleted once its
// instances are terminated.
func Groups(c *mark.Cluster) infra.Kind[types.SecurityGroup] {
	k := mark.Kind(mark.KindGroup, func(ctx context.Context, filters []types.Filter) ([]types.SecurityGroup, error) {
		p := ec2.NewDescribeSecurityGroupsPaginator(c.Clients.EC2, &ec2.DescribeSecurityGroupsInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeSecurityGroupsOutput) []types.SecurityGroup { return o.SecurityGroups })
	}, func(g types.SecurityGroup) infra.Observed {
		return infra.Observed{Identity: aws.ToString(g.GroupId), Marks: mark.EC2TagMap(g.Tags), Used: len(g.IpPermissions) > 0}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteGroup(ctx, c, id) }
	return k
}
