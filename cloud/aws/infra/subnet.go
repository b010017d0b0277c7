package infra

import (
	"context"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Subnet is the part of a network that lies in one zone.
type Subnet struct {
	In *Cluster
	// Name tells it from the cluster's others; the zone will do.
	Name string
	VPC  Ref
	// Zone is an availability zone: "us-west-2a".
	Zone string
	// CIDR is its range of addresses, within the network's.
	CIDR netip.Prefix

	learned
	nonced
}

var (
	_ resource.Updater = (*Subnet)(nil)
	_ resource.Nonced  = (*Subnet)(nil)
)

// ID is "aws/subnet/" and its name.
func (s *Subnet) ID() string { return resourceID(KindSubnet, s.Name) }

// Kind is KindSubnet.
func (*Subnet) Kind() string { return KindSubnet }

// Needs its network.
func (s *Subnet) Needs() []string { return needs(s.VPC) }

// Find looks at it.
func (s *Subnet) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if s.VPC.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	live, found, err := subnets().named(ctx, s.In, s.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	s.id = live.id
	drift := tagDrift(live.tags, s.In.chosen(s.Name))
	for _, d := range []resource.Drift{
		{Path: "vpc", Have: aws.ToString(live.live.VpcId), Want: s.VPC.Identity(), Replace: true},
		{Path: "zone", Have: aws.ToString(live.live.AvailabilityZone), Want: s.Zone, Replace: true},
		{Path: "cidr", Have: aws.ToString(live.live.CidrBlock), Want: s.CIDR.String(), Replace: true},
	} {
		if d.Have != d.Want {
			drift = append(drift, d)
		}
	}
	return found, drift, nil
}

// CreateOnce makes it.
func (s *Subnet) CreateOnce(ctx context.Context, nonce string) error {
	return s.In.known(ctx, s.ID(), func() error {
		out, err := s.In.Clients.EC2.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: aws.String(s.VPC.Identity()), AvailabilityZone: aws.String(s.Zone), CidrBlock: aws.String(s.CIDR.String()),
			TagSpecifications: tagSpec(types.ResourceTypeSubnet, s.In.marks(s.Name, nonce)),
		})
		if err == nil {
			s.id = aws.ToString(out.Subnet.SubnetId)
		}
		return err
	})
}

// Made lists what was made under nonce.
func (s *Subnet) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return subnets().made(ctx, s.In, nonce)
}

// Update changes tags.
func (s *Subnet) Update(ctx context.Context, drift []resource.Drift) error {
	return s.In.retag(ctx, s.id, drift)
}

// Delete removes it, once the machines in it are gone.
func (s *Subnet) Delete(ctx context.Context) error { return s.In.deleteSubnet(ctx, s.id) }

func (c *Cluster) deleteSubnet(ctx context.Context, id string) error {
	return c.blame(ctx, "subnet-id", id, c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String(id)})
		return err
	}))
}

func subnets() kind[types.Subnet] {
	return kind[types.Subnet]{
		name: KindSubnet,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Subnet, error) {
			p := ec2.NewDescribeSubnetsPaginator(c.Clients.EC2, &ec2.DescribeSubnetsInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeSubnetsOutput) []types.Subnet { return o.Subnets })
		},
		look: func(s types.Subnet) sight {
			return sight{id: aws.ToString(s.SubnetId), tags: ec2TagMap(s.Tags)}
		},
	}
}
