package network

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Address is an Elastic IP address, which remains when the master's instance is replaced.
type Address struct {
	In   *mark.Cluster
	Name string

	infra.Learned
	public string
}

// PublicIP returns the address ("203.0.113.7"), or "" until it was found or allocated.
func (a *Address) PublicIP() string { return a.public }

// ID returns the resource ID "aws/address/NAME".
func (a *Address) ID() string { return mark.ResourceID(mark.KindAddress, a.Name) }

// Define implements infra.Defined.
func (a *Address) Define() infra.Definition[types.Address] {
	d := mark.Define(a.In, Addresses(a.In), a.Name, &a.Learned)
	d.Create = a.createAddress
	d.Compare = func(_ context.Context, live types.Address) ([]resource.Drift, error) {
		a.public = aws.ToString(live.PublicIp)
		return nil, nil
	}
	return d
}

func (a *Address) createAddress(ctx context.Context, nonce string) error {
	out, err := a.In.Clients.EC2.AllocateAddress(ctx, &ec2.AllocateAddressInput{
		Domain:            types.DomainTypeVpc,
		TagSpecifications: mark.TagSpec(types.ResourceTypeElasticIp, a.In.Marks(a.Name, nonce)),
	})
	if err != nil {
		return err
	}
	a.Learn(aws.ToString(out.AllocationId))
	a.public = aws.ToString(out.PublicIp)
	return nil
}

// Addresses returns the kind of the cluster's Elastic IP addresses. EC2 returns them in one page.
func Addresses(c *mark.Cluster) infra.Kind[types.Address] {
	k := mark.Kind(mark.KindAddress, func(ctx context.Context, filters []types.Filter) ([]types.Address, error) {
		out, err := c.Clients.EC2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: filters})
		if err != nil {
			return nil, err
		}
		return out.Addresses, nil
	}, func(a types.Address) infra.Observed {
		return infra.Observed{Identity: aws.ToString(a.AllocationId), Marks: mark.EC2TagMap(a.Tags), Used: aws.ToString(a.AssociationId) != ""}
	})
	k.Delete = func(ctx context.Context, id string) error { return releaseAddress(ctx, c, id) }
	return k
}

func releaseAddress(ctx context.Context, c *mark.Cluster, id string) error {
	live, err := describeAddress(ctx, c, id)
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	if err := disassociateAddress(ctx, c, aws.ToString(live.AssociationId)); err != nil {
		return err
	}
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		_, err := c.Clients.EC2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String(id)})
		return err
	})
}

// describeAddress returns an Elastic IP address.
func describeAddress(ctx context.Context, c *mark.Cluster, id string) (types.Address, error) {
	out, err := c.Clients.EC2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
	if err != nil {
		return types.Address{}, err
	}
	if len(out.Addresses) == 0 {
		return types.Address{}, infra.Missing("ec2:DescribeAddresses", id)
	}
	return out.Addresses[0], nil
}
