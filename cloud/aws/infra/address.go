package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Address is a public address that stays when the machine behind it changes.
type Address struct {
	In   *Cluster
	Name string

	learned
	nonced
	public string
}

var (
	_ resource.Updater = (*Address)(nil)
	_ resource.Nonced  = (*Address)(nil)
)

// PublicIP is the address itself ("203.0.113.7"), or empty before it was found
// or made.
func (a *Address) PublicIP() string { return a.public }

// ID is "aws/address/" and its name.
func (a *Address) ID() string { return resourceID(KindAddress, a.Name) }

// Kind is KindAddress.
func (*Address) Kind() string { return KindAddress }

// Needs nothing.
func (*Address) Needs() []string { return nil }

// Find looks at it.
func (a *Address) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	s, found, err := addresses().named(ctx, a.In, a.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	a.id, a.public = s.id, aws.ToString(s.live.PublicIp)
	return found, tagDrift(s.tags, a.In.chosen(a.Name)), nil
}

// CreateOnce reserves it.
func (a *Address) CreateOnce(ctx context.Context, nonce string) error {
	out, err := a.In.Clients.EC2.AllocateAddress(ctx, &ec2.AllocateAddressInput{
		Domain:            types.DomainTypeVpc,
		TagSpecifications: tagSpec(types.ResourceTypeElasticIp, a.In.marks(a.Name, nonce)),
	})
	if err != nil {
		return err
	}
	a.id, a.public = aws.ToString(out.AllocationId), aws.ToString(out.PublicIp)
	return nil
}

// Made lists what was made under nonce.
func (a *Address) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return addresses().made(ctx, a.In, nonce)
}

// Update changes tags.
func (a *Address) Update(ctx context.Context, drift []resource.Drift) error {
	return a.In.retag(ctx, a.id, drift)
}

// Delete gives it back.
func (a *Address) Delete(ctx context.Context) error { return a.In.deleteAddress(ctx, a.id) }

func (c *Cluster) deleteAddress(ctx context.Context, id string) error {
	live, err := c.address(ctx, id)
	if err != nil {
		return gone(err)
	}
	if err := c.disassociate(ctx, aws.ToString(live.AssociationId)); err != nil {
		return err
	}
	return c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String(id)})
		return err
	})
}

// address looks at one address.
func (c *Cluster) address(ctx context.Context, id string) (types.Address, error) {
	out, err := c.Clients.EC2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
	if err != nil {
		return types.Address{}, err
	}
	if len(out.Addresses) == 0 {
		return types.Address{}, none("ec2:DescribeAddresses", id)
	}
	return out.Addresses[0], nil
}

// addresses has one page: Amazon does not page them.
func addresses() kind[types.Address] {
	return kind[types.Address]{
		name: KindAddress,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Address, error) {
			out, err := c.Clients.EC2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: filters})
			if err != nil {
				return nil, err
			}
			return out.Addresses, nil
		},
		look: func(a types.Address) sight {
			return sight{id: aws.ToString(a.AllocationId), tags: ec2TagMap(a.Tags), used: aws.ToString(a.AssociationId) != ""}
		},
	}
}
