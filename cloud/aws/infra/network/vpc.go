// Package network is what connects a cluster's machines: its network, who may reach
// whom, and the master's address.
package network

import (
	"context"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// VPC is a network of the cluster's own.
type VPC struct {
	In *mark.Cluster
	// Name tells it from others of the cluster: "main".
	Name string
	// CIDR is its range of addresses, /16 to /28.
	CIDR netip.Prefix

	infra.Learned
}

// ID is "aws/vpc/" and its name.
func (v *VPC) ID() string { return mark.ResourceID(mark.KindVPC, v.Name) }

// Define says what is wanted.
func (v *VPC) Define() infra.Definition[types.Vpc] {
	d := mark.Define(v.In, VPCs(v.In), v.Name, &v.Learned)
	d.Create = v.createVPC
	d.Compare = func(_ context.Context, live types.Vpc) ([]resource.Drift, error) {
		return infra.Differences(infra.Fixed("cidr", aws.ToString(live.CidrBlock), v.CIDR.String())), nil
	}
	d.Describe = func() []string { return []string{v.CIDR.String()} }
	return d
}

func (v *VPC) createVPC(ctx context.Context, nonce string) error {
	out, err := v.In.Clients.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         aws.String(v.CIDR.String()),
		TagSpecifications: mark.TagSpec(types.ResourceTypeVpc, v.In.Marks(v.Name, nonce)),
	})
	if err != nil {
		return err
	}
	v.Learn(aws.ToString(out.Vpc.VpcId))
	return nil
}

// VPCs are the networks of a cluster's own.
func VPCs(c *mark.Cluster) infra.Kind[types.Vpc] {
	k := mark.Kind(mark.KindVPC, func(ctx context.Context, filters []types.Filter) ([]types.Vpc, error) {
		p := ec2.NewDescribeVpcsPaginator(c.Clients.EC2, &ec2.DescribeVpcsInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeVpcsOutput) []types.Vpc { return o.Vpcs })
	}, func(v types.Vpc) infra.Observed {
		return infra.Observed{Identity: aws.ToString(v.VpcId), Marks: mark.EC2TagMap(v.Tags)}
	})
	k.Delete = func(ctx context.Context, id string) error {
		return c.Waiter().RetryWhileHeld(ctx, id, interfaceHolder(c, "vpc-id", id), func() error {
			_, err := c.Clients.EC2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String(id)})
			return err
		})
	}
	return k
}
