package network

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Association associates an Elastic IP address with an instance.
type Association struct {
	In *mark.Cluster
	// Name is the name of the address.
	Name     string
	Address  infra.Ref
	Instance infra.Ref

	infra.Learned
}

var _ resource.Updater = (*Association)(nil)

// ID returns the resource ID "aws/address-association/NAME".
func (a *Association) ID() string { return mark.ResourceID(mark.KindAssociation, a.Name) }

// Kind returns KindAssociation.
func (*Association) Kind() string { return mark.KindAssociation }

// Needs returns the IDs of the address and the instance.
func (a *Association) Needs() []string { return infra.NeedsOf(a.Address, a.Instance) }

// Find finds the instance with which the address is associated.
func (a *Association) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if a.Address.Identity() == "" || a.Instance.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	var live types.Address
	err := a.In.Waiter().LookUpListed(ctx, a.ID(), func() (err error) {
		live, err = describeAddress(ctx, a.In, a.Address.Identity())
		return err
	})
	if cloud.KindOf(err) == cloud.NotFound {
		return resource.Found{}, nil, nil
	}
	if err != nil || aws.ToString(live.AssociationId) == "" {
		return resource.Found{}, nil, err
	}
	a.Learn(aws.ToString(live.AllocationId))
	var drift []resource.Drift
	if have := aws.ToString(live.InstanceId); have != a.Instance.Identity() {
		drift = append(drift, resource.Drift{Path: "instance", Have: have, Want: a.Instance.Identity()})
	}
	return resource.Found{Kind: mark.KindAssociation, ID: a.Identity(), Name: a.Name}, drift, nil
}

// Create associates the address with the instance once the instance is running.
func (a *Association) Create(ctx context.Context) error {
	a.Learn(a.Address.Identity())
	if _, err := compute.AwaitMachine(ctx, a.In, a.Instance.Identity(), compute.ToStart, types.InstanceStateNameRunning, types.InstanceStateNameStopped); err != nil {
		return err
	}
	return a.In.Waiter().RetryUntilKnown(ctx, a.ID(), func() error {
		_, err := a.In.Clients.EC2.AssociateAddress(ctx, &ec2.AssociateAddressInput{
			AllocationId: aws.String(a.Identity()), InstanceId: aws.String(a.Instance.Identity()), AllowReassociation: aws.Bool(true),
		})
		return err
	})
}

// Update associates the address with another instance.
func (a *Association) Update(ctx context.Context, _ []resource.Drift) error { return a.Create(ctx) }

// Delete disassociates the address.
func (a *Association) Delete(ctx context.Context) error { return Disassociate(ctx, a.In, a.Identity()) }

// Disassociate disassociates an address, which has at most one association.
func Disassociate(ctx context.Context, c *mark.Cluster, address string) error {
	live, err := describeAddress(ctx, c, address)
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	return disassociateAddress(ctx, c, aws.ToString(live.AssociationId))
}

func disassociateAddress(ctx context.Context, c *mark.Cluster, association string) error {
	if association == "" {
		return nil
	}
	_, err := c.Clients.EC2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: aws.String(association)})
	return infra.IgnoreMissing(err)
}

// ListAssociations returns the cluster's addresses that are associated.
func ListAssociations(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := Addresses(c).All(ctx, c.Owned())
	var out []resource.Found
	for _, a := range all {
		if a.Used {
			out = append(out, resource.Found{Kind: mark.KindAssociation, ID: a.Identity, Name: a.Marks[mark.ResourceTag]})
		}
	}
	return out, err
}
