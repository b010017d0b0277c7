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

// Subnet is a subnet of a VPC in one zone.
type Subnet struct {
	In *mark.Cluster
	// Name identifies the subnet within the cluster. The zone suffices.
	Name string
	VPC  infra.Ref
	// Zone is an availability zone: "us-west-2a".
	Zone string
	// CIDR is its CIDR block, within the VPC's.
	CIDR netip.Prefix

	infra.Learned
}

// ID returns the resource ID "aws/subnet/NAME".
func (s *Subnet) ID() string { return mark.ResourceID(mark.KindSubnet, s.Name) }

// Define implements infra.Defined.
func (s *Subnet) Define() infra.Definition[types.Subnet] {
	d := mark.Define(s.In, Subnets(s.In), s.Name, &s.Learned, s.VPC)
	d.Needed = []infra.Ref{s.VPC}
	d.Create = s.createSubnet
	d.Compare = s.compareLive
	d.Describe = func() []string { return []string{s.CIDR.String() + " in " + s.Zone} }
	return d
}

func (s *Subnet) compareLive(_ context.Context, live types.Subnet) ([]resource.Drift, error) {
	return infra.Differences(
		infra.Fixed("vpc", aws.ToString(live.VpcId), s.VPC.Identity()),
		infra.Fixed("zone", aws.ToString(live.AvailabilityZone), s.Zone),
		infra.Fixed("cidr", aws.ToString(live.CidrBlock), s.CIDR.String()),
	), nil
}

func (s *Subnet) createSubnet(ctx context.Context, nonce string) error {
	return s.In.Waiter().RetryUntilKnown(ctx, s.ID(), func() error {
		out, err := s.In.Clients.EC2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: aws.String(s.VPC.Identity()), AvailabilityZone: aws.String(s.Zone), CidrBlock: aws.String(s.CIDR.String()),
			TagSpecifications: mark.TagSpec(types.ResourceTypeSubnet, s.In.Marks(s.Name, nonce)),
		})
		if err == nil {
			s.Learn(aws.ToString(out.Subnet.SubnetId))
		}
		return err
	})
}

// Subnets returns the kind of the cluster's subnets. A subnet can be deleted once its instances are
// terminated.
func Subnets(c *mark.Cluster) infra.Kind[types.Subnet] {
	k := mark.Kind(mark.KindSubnet, func(ctx context.Context, filters []types.Filter) ([]types.Subnet, error) {
		p := ec2.NewDescribeSubnetsPaginator(c.Clients.EC2, &ec2.DescribeSubnetsInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeSubnetsOutput) []types.Subnet { return o.Subnets })
	}, func(s types.Subnet) infra.Observed {
		return infra.Observed{Identity: aws.ToString(s.SubnetId), Marks: mark.EC2TagMap(s.Tags)}
	})
	k.Delete = func(ctx context.Context, id string) error {
		return c.Waiter().RetryWhileHeld(ctx, id, interfaceHolder(c, "subnet-id", id), func() error {
			_, err := c.Clients.EC2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String(id)})
			return err
		})
	}
	return k
}
