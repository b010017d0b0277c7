package network

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Address is a public address that stays when machines come and go.
type Address struct {
	In *owner.Cluster
	// Name is whose it is: "master".
	Name string

	infra.Learned
	ip string
}

// ID is "gcp/address/" and its name.
func (a *Address) ID() string { return owner.ResourceID(owner.KindAddress, a.Name) }

// PublicIP is the address itself; it is empty before it was found or made.
func (a *Address) PublicIP() string { return a.ip }

// Define says what is wanted.
func (a *Address) Define() infra.Definition[*compute.Address] {
	d := owner.Define(a.In, Addresses(a.In), a.Name, &a.Learned)
	d.Tags = a.In.Labels
	d.Create = a.createAddress
	d.Retag = a.relabel
	d.Compare = func(_ context.Context, live *compute.Address) ([]resource.Drift, error) {
		a.ip = live.Address
		return nil, nil
	}
	return d
}

func (a *Address) createAddress(ctx context.Context, _ string) error {
	name := a.In.FullName(a.Name)
	err := owner.Insert(ctx, a.In, a.Define(), name, func() error {
		return a.In.Clients.Addresses.Insert(ctx, &compute.Address{Name: name, AddressType: "EXTERNAL", Labels: a.In.AllLabels()})
	})
	if err != nil {
		return err
	}
	live, err := a.In.Clients.Addresses.Get(ctx, name)
	if err != nil {
		return err
	}
	a.ip = live.Address
	return nil
}

func (a *Address) relabel(ctx context.Context, identity string, marks map[string]string) error {
	addresses := a.In.Clients.Addresses
	return a.In.Relabel(ctx, a.ID(), marks, func() (owner.Labelled, error) {
		live, err := addresses.Get(ctx, identity)
		if err != nil {
			return owner.Labelled{}, err
		}
		return owner.Labelled{Labels: live.Labels, Fingerprint: live.LabelFingerprint}, nil
	}, func(l owner.Labelled) error {
		return addresses.SetLabels(ctx, identity, &compute.RegionSetLabelsRequest{Labels: l.Labels, LabelFingerprint: l.Fingerprint})
	})
}

// Addresses are those of a cluster.
func Addresses(c *owner.Cluster) owner.Kind[compute.Address] {
	return owner.KindOf(c, owner.KindAddress, c.LabelFilter(), c.Clients.Addresses.Collection, func(a *compute.Address) infra.Observed {
		return infra.Observed{Identity: a.Name, Marks: a.Labels, Used: len(a.Users) > 0, Deleting: a.Status == "DELETING"}
	})
}
