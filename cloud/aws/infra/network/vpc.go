// Package network manages the network of a cluster: VPC, subnets, routes, security groups and the
// master's address.
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

// VPC is a VPC created for the cluster.
type VPC struct {
	In *mark.Cluster
	// Name identifies the VPC within the cluster: "main".
	Name string
	// CIDR is its CIDR block, /16 to /28.
	CIDR netip.Prefix

	infra.Learned
}

// ID returns the resource ID "aws/vpc/NAME".
func (v *VPC) ID() string { return mark.ResourceID(mark.KindVPC, v.Name) }

// Define implements infra.Defined.
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

// VPCs returns the kind of the cluster's VPCs.
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
