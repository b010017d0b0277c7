package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Association has an address lead to a machine.
type Association struct {
	In *Cluster
	// Name is the address's.
	Name     string
	Address  Ref
	Instance Ref

	learned
}

var _ resource.Updater = (*Association)(nil)

// ID is "aws/address-association/" and its name.
func (a *Association) ID() string { return resourceID(KindAssociation, a.Name) }

// Kind is KindAssociation.
func (*Association) Kind() string { return KindAssociation }

// Needs the address and the machine.
func (a *Association) Needs() []string { return needs(a.Address, a.Instance) }

// Find looks where the address leads.
func (a *Association) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if a.Address.Identity() == "" || a.Instance.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	var live types.Address
	err := a.In.sure(ctx, a.ID(), func() (err error) {
		live, err = a.In.address(ctx, a.Address.Identity())
		return err
	})
	if cloud.KindOf(err) == cloud.NotFound {
		return resource.Found{}, nil, nil
	}
	if err != nil || aws.ToString(live.AssociationId) == "" {
		return resource.Found{}, nil, err
	}
	a.id = aws.ToString(live.AllocationId)
	var drift []resource.Drift
	if have := aws.ToString(live.InstanceId); have != a.Instance.Identity() {
		drift = append(drift, resource.Drift{Path: "instance", Have: have, Want: a.Instance.Identity()})
	}
	return resource.Found{Kind: KindAssociation, ID: a.id, Name: a.Name}, drift, nil
}

// Create has the address lead to the machine, once that runs.
func (a *Association) Create(ctx context.Context) error {
	a.id = a.Address.Identity()
	if _, err := a.In.awaitMachine(ctx, a.Instance.Identity(), toStart, types.InstanceStateNameRunning, types.InstanceStateNameStopped); err != nil {
		return err
	}
	return a.In.known(ctx, a.ID(), func() error {
		_, err := a.In.Clients.EC2.AssociateAddress(ctx, &ec2.AssociateAddressInput{
			AllocationId: aws.String(a.id), InstanceId: aws.String(a.Instance.Identity()), AllowReassociation: aws.Bool(true),
		})
		return err
	})
}

// Update has it lead to another machine.
func (a *Association) Update(ctx context.Context, _ []resource.Drift) error { return a.Create(ctx) }

// Delete has the address lead nowhere.
func (a *Association) Delete(ctx context.Context) error { return a.In.deleteAssociation(ctx, a.id) }

// deleteAssociation goes by the address, which has one association at most.
func (c *Cluster) deleteAssociation(ctx context.Context, address string) error {
	live, err := c.address(ctx, address)
	if err != nil {
		return gone(err)
	}
	return c.disassociate(ctx, aws.ToString(live.AssociationId))
}

func (c *Cluster) disassociate(ctx context.Context, association string) error {
	if association == "" {
		return nil
	}
	_, err := c.Clients.EC2.DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: aws.String(association)})
	return gone(err)
}

// leadingAddresses lists our addresses that lead somewhere.
func leadingAddresses(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	all, err := addresses().all(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	var out []resource.Found
	for _, s := range all {
		if s.used {
			out = append(out, resource.Found{Kind: KindAssociation, ID: s.id, Name: s.tags[ResourceTag]})
		}
	}
	return out, nil
}
