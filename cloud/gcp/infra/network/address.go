package network

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Address is a static external address, which remains when instances are replaced.
type Address struct {
	In *mark.Cluster
	// Name is the owner of the address: "master".
	Name string

	infra.Learned
	ip string
}

// ID returns the resource ID "gcp/address/NAME".
func (a *Address) ID() string { return mark.ResourceID(mark.KindAddress, a.Name) }

// PublicIP returns the address, or "" until it was found or reserved.
func (a *Address) PublicIP() string { return a.ip }

// Define implements infra.Defined.
func (a *Address) Define() infra.Definition[*compute.Address] {
	d := mark.Define(a.In, Addresses(a.In), a.Name, &a.Learned)
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
	c, name := a.In.Clients, a.In.FullName(a.Name)
	err := mark.Insert(ctx, a.In, a.Define(), name, func() error {
		return api.Run(ctx, c, c.Compute.Addresses.Insert(c.Project, c.Region, &compute.Address{Name: name, AddressType: "EXTERNAL", Labels: a.In.AllLabels()}))
	})
	if err != nil {
		return err
	}
	live, err := api.Do(ctx, c.Compute.Addresses.Get(c.Project, c.Region, name))
	if err != nil {
		return err
	}
	a.ip = live.Address
	return nil
}

func (a *Address) relabel(ctx context.Context, identity string, marks map[string]string) error {
	c := a.In.Clients
	return a.In.Relabel(ctx, a.ID(), marks, func() (mark.Labelled, error) {
		live, err := api.Do(ctx, c.Compute.Addresses.Get(c.Project, c.Region, identity))
		if err != nil {
			return mark.Labelled{}, err
		}
		return mark.Labelled{Labels: live.Labels, Fingerprint: live.LabelFingerprint}, nil
	}, func(l mark.Labelled) error {
		in := &compute.RegionSetLabelsRequest{Labels: l.Labels, LabelFingerprint: l.Fingerprint}
		return api.Run(ctx, c, c.Compute.Addresses.SetLabels(c.Project, c.Region, identity, in))
	})
}

// Addresses returns the kind of the cluster's addresses.
func Addresses(c *mark.Cluster) mark.Kind[compute.Address] {
	return mark.KindOf(c, mark.KindAddress, c.LabelFilter(), mark.Calls[compute.Address]{
		Get: func(ctx context.Context, name string) (*compute.Address, error) {
			return api.Do(ctx, c.Clients.Compute.Addresses.Get(c.Clients.Project, c.Clients.Region, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Addresses.Delete(c.Clients.Project, c.Clients.Region, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Address, error) {
			return api.List(ctx, c.Clients.Compute.Addresses.List(c.Clients.Project, c.Clients.Region).Filter(filter), func(p *compute.AddressList) []*compute.Address { return p.Items })
		},
	}, func(a *compute.Address) infra.Observed {
		return infra.Observed{Identity: a.Name, Marks: a.Labels, Used: len(a.Users) > 0, Deleting: a.Status == "DELETING"}
	})
}
