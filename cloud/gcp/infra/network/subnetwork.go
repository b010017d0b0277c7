package network

import (
	"context"
	"net/netip"
	"path"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Subnetwork is the subnetwork of the cluster's instances in the region. With Private Google
// Access, instances without an external address can reach Google's services.
type Subnetwork struct {
	In      *mark.Cluster
	Network infra.Ref
	// CIDR is its address range.
	CIDR netip.Prefix

	infra.Learned
}

// ID returns the resource ID "gcp/subnetwork/REGION".
func (s *Subnetwork) ID() string {
	return mark.ResourceID(mark.KindSubnetwork, s.In.Clients.Region)
}

// Define implements infra.Defined.
func (s *Subnetwork) Define() infra.Definition[*compute.Subnetwork] {
	d := mark.Define(s.In, Subnetworks(s.In), s.In.Clients.Region, &s.Learned, s.Network)
	d.Create = s.createSubnetwork
	d.Compare = s.compareLive
	d.Change = s.fixDrift
	d.Describe = func() []string { return []string{s.CIDR.String() + " in " + s.In.Clients.Region} }
	return d
}

func (s *Subnetwork) compareLive(_ context.Context, live *compute.Subnetwork) ([]resource.Drift, error) {
	cidr := infra.Changeable(cidrPath, live.IpCidrRange, s.CIDR.String())
	cidr.Replace = !s.isLarger(live.IpCidrRange)
	return infra.Differences(
		infra.Fixed("network", path.Base(live.Network), path.Base(s.Network.Identity())),
		cidr,
		infra.Changeable(privateAccessPath, onOff(live.PrivateIpGoogleAccess), onOff(true)),
	), nil
}

// The paths of drift that is corrected in place.
const (
	cidrPath          = "cidr"
	privateAccessPath = "private-google-access"
)

// isLarger reports whether the wanted range properly contains a range: a subnetwork can be expanded
// to it while it contains instances.
func (s *Subnetwork) isLarger(have string) bool {
	p, err := netip.ParsePrefix(have)
	return err == nil && s.CIDR.Bits() < p.Bits() && s.CIDR.Contains(p.Addr())
}

func (s *Subnetwork) fixDrift(ctx context.Context, drift []resource.Drift) error {
	c := s.In.Clients
	for _, d := range drift {
		var err error
		switch d.Path {
		case cidrPath:
			err = s.growRange(ctx)
		case privateAccessPath:
			in := &compute.SubnetworksSetPrivateIpGoogleAccessRequest{PrivateIpGoogleAccess: true}
			err = api.Run(ctx, c, c.Compute.Subnetworks.SetPrivateIpGoogleAccess(c.Project, c.Region, s.Identity(), in))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Subnetwork) growRange(ctx context.Context) error {
	c, want := s.In.Clients, s.CIDR.String()
	return mark.Grow(func() error {
		in := &compute.SubnetworksExpandIpCidrRangeRequest{IpCidrRange: want}
		return api.Run(ctx, c, c.Compute.Subnetworks.ExpandIpCidrRange(c.Project, c.Region, s.Identity(), in))
	}, func() (bool, error) {
		live, err := api.Do(ctx, c.Compute.Subnetworks.Get(c.Project, c.Region, s.Identity()))
		return err == nil && live.IpCidrRange == want, err
	})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s *Subnetwork) createSubnetwork(ctx context.Context, _ string) error {
	c, name := s.In.Clients, s.In.FullName(s.In.Clients.Region)
	return mark.Insert(ctx, s.In, s.Define(), name, func() error {
		return api.Run(ctx, c, c.Compute.Subnetworks.Insert(c.Project, c.Region, &compute.Subnetwork{
			Name: name, Description: s.In.Description("machines"), Network: s.In.NetworkLink(s.Network),
			IpCidrRange: s.CIDR.String(), PrivateIpGoogleAccess: true,
		}))
	})
}

// Subnetworks returns the kind of the cluster's subnetworks. A subnetwork can be deleted once it
// contains no instances.
func Subnetworks(c *mark.Cluster) mark.Kind[compute.Subnetwork] {
	return mark.KindOf(c, mark.KindSubnetwork, "", mark.Calls[compute.Subnetwork]{
		Get: func(ctx context.Context, name string) (*compute.Subnetwork, error) {
			return api.Do(ctx, c.Clients.Compute.Subnetworks.Get(c.Clients.Project, c.Clients.Region, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Subnetworks.Delete(c.Clients.Project, c.Clients.Region, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Subnetwork, error) {
			return api.List(ctx, c.Clients.Compute.Subnetworks.List(c.Clients.Project, c.Clients.Region).Filter(filter), func(p *compute.SubnetworkList) []*compute.Subnetwork { return p.Items })
		},
	}, func(s *compute.Subnetwork) infra.Observed {
		return infra.Observed{Identity: s.Name, Marks: mark.DescribedMarks(s.Description)}
	})
}
