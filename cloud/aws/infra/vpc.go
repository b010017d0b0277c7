package infra

import (
	"context"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// VPC is a network of the cluster's own.
type VPC struct {
	In *Cluster
	// Name tells it from others of the cluster: "main".
	Name string
	// CIDR is its range of addresses, /16 to /28.
	CIDR netip.Prefix

	learned
	nonced
}

var (
	_ resource.Updater = (*VPC)(nil)
	_ resource.Nonced  = (*VPC)(nil)
)

// ID is "aws/vpc/" and its name.
func (v *VPC) ID() string { return resourceID(KindVPC, v.Name) }

// Kind is KindVPC.
func (*VPC) Kind() string { return KindVPC }

// Needs nothing.
func (*VPC) Needs() []string { return nil }

// Find looks at it.
func (v *VPC) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	s, found, err := vpcs().named(ctx, v.In, v.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	v.id = s.id
	drift := tagDrift(s.tags, v.In.chosen(v.Name))
	if have := aws.ToString(s.live.CidrBlock); have != v.CIDR.String() {
		drift = append(drift, resource.Drift{Path: "cidr", Have: have, Want: v.CIDR.String(), Replace: true})
	}
	return found, drift, nil
}

// CreateOnce makes it.
func (v *VPC) CreateOnce(ctx context.Context, nonce string) error {
	out, err := v.In.Clients.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         aws.String(v.CIDR.String()),
		TagSpecifications: tagSpec(types.ResourceTypeVpc, v.In.marks(v.Name, nonce)),
	})
	if err != nil {
		return err
	}
	v.id = aws.ToString(out.Vpc.VpcId)
	return nil
}

// Made lists what was made under nonce.
func (v *VPC) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return vpcs().made(ctx, v.In, nonce)
}

// Update changes tags.
func (v *VPC) Update(ctx context.Context, drift []resource.Drift) error {
	return v.In.retag(ctx, v.id, drift)
}

// Delete removes it.
func (v *VPC) Delete(ctx context.Context) error { return v.In.deleteVPC(ctx, v.id) }

func (c *Cluster) deleteVPC(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: aws.String(id)})
		return err
	})
}

func vpcs() kind[types.Vpc] {
	return kind[types.Vpc]{
		name: KindVPC,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Vpc, error) {
			p := ec2.NewDescribeVpcsPaginator(c.Clients.EC2, &ec2.DescribeVpcsInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeVpcsOutput) []types.Vpc { return o.Vpcs })
		},
		look: func(v types.Vpc) sight {
			return sight{id: aws.ToString(v.VpcId), tags: ec2TagMap(v.Tags)}
		},
	}
}
