// Package layout decides where the machines of a cluster on AWS run and from which images they
// boot. It resolves zones, subnets, instance types, images and roles once and keeps the results.
package layout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Known holds the facts that were read from AWS once and then recorded. New images and zones thus
// do not change an existing cluster, and `down` works without reading them again.
type Known struct {
	// Zones lists the zones that have or had a subnet in the managed VPC, in the order of their
	// address ranges. Each zone keeps its range, and new zones are appended. An empty name is a
	// range without a zone.
	Zones []string `json:"zones,omitempty"`
	// Retired lists those of Zones that are no longer used.
	Retired []string `json:"retired,omitempty"`
	// Types describes the instance types.
	Types machines.Types `json:"types,omitempty"`
	// Images maps machine role and architecture, such as "master/amd64", to stock images.
	Images map[string]string `json:"images,omitempty"`
	// Roots maps agents' images to the names of their root devices.
	Roots map[string]string `json:"roots,omitempty"`
	// MasterRoot is the root device name of the master's image as read in this run; it is not
	// recorded.
	MasterRoot string `json:"-"`
	// Subnets maps existing subnets to their zones.
	Subnets map[string]string `json:"subnets,omitempty"`
	// Roles maps existing roles as named in the spec to their ARNs.
	Roles map[string]string `json:"roles,omitempty"`
	// Profiles maps existing instance profiles as named in the spec to their ARNs and roles.
	Profiles map[string]facts.InstanceProfile `json:"profiles,omitempty"`
	// VolumeZone is the zone of an existing volume.
	VolumeZone string `json:"volume_zone,omitempty"`
	// DeterminedPassword reports whether the user determined has its own initial password; earlier
	// versions generated one for admin and determined.
	DeterminedPassword bool `json:"determined_password,omitempty"`
	// DiskKey is the KMS key that encrypts disks in the region.
	DiskKey string `json:"disk_key,omitempty"`
	// Master is the location of the master's machine.
	Master MasterPlace `json:"master,omitzero"`
}

// Used returns the zones that need a subnet in the managed VPC.
func (k Known) Used() []string {
	return slices.DeleteFunc(slices.Clone(k.Zones), func(z string) bool { return z == "" || slices.Contains(k.Retired, z) })
}

// MasterPlace is the location of the master's machine.
type MasterPlace struct {
	Zone string `json:"zone,omitempty"`
}

// ReadKnown reads the settings that Remember has written.
func ReadKnown(settings map[string]string) (Known, error) { return hosted.ReadKnown[Known](settings) }

// Layout combines the spec of a cluster with the facts known about AWS.
type Layout struct {
	// Spec is the requested configuration.
	Spec spec.AWS
	// Known holds the facts that earlier runs have read.
	Known Known
}

// Look reads everything that the spec mentions and that is still unknown. It calls password to
// learn whether `up` generates a password for the user determined. It changes nothing.
func (l Layout) Look(ctx context.Context, clients api.Clients, password func(context.Context) (bool, error)) (Known, error) {
	k := &l.Known
	k.Types, k.Images, k.Subnets = maps.Clone(k.Types), maps.Clone(k.Images), maps.Clone(k.Subnets)
	k.Roots, k.Zones = maps.Clone(k.Roots), slices.Clone(k.Zones)
	r := &reader{Layout: l, facts: facts.Facts{Clients: clients}}
	readPassword := func(ctx context.Context) (err error) {
		r.Known.DeterminedPassword, err = password(ctx)
		return err
	}
	look := machines.InTurn(
		// These do not depend on each other.
		machines.SideBySide(
			r.readTypes, r.readVolume, r.readSubnets, r.readZones, r.readPublished, r.readRoles, r.readProfiles, r.readDiskKey, readPassword,
		),
		r.chooseZones, r.readImages, r.readRootDisks,
	)
	if err := look(ctx); err != nil {
		return Known{}, err
	}
	return r.Known, nil
}

// reader holds the facts while Look reads them; they replace the caller's at the end.
type reader struct {
	Layout

	facts facts.Facts
	// zones are those of the region, published maps stock images to their IDs, and read holds the
	// images that were described.
	zones     []string
	published map[string]published
	read      map[string]facts.Image
}

// allTypes returns every instance type that the spec names.
func allTypes(s spec.AWS) []string {
	out := []string{s.Master.InstanceType}
	for _, p := range s.AllPools() {
		out = append(out, p.InstanceTypes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// poolTypes returns the instance types of each pool.
func poolTypes(s spec.AWS) map[string][]string {
	out := make(map[string][]string)
	for name, p := range s.AllPools() {
		out[name] = p.InstanceTypes
	}
	return out
}

func (r *reader) readTypes(ctx context.Context) error {
	ask := r.Known.Types.Unread(allTypes(r.Spec))
	if len(ask) == 0 {
		return nil
	}
	var types map[string]facts.Type
	var offered map[string][]string
	both := machines.SideBySide(func(ctx context.Context) (err error) {
		types, err = r.facts.Types(ctx, ask...)
		return err
	}, func(ctx context.Context) (err error) {
		offered, err = r.facts.Offered(ctx, ask...)
		return err
	})
	if err := both(ctx); err != nil {
		return err
	}
	found := machines.Types{}
	for name, t := range types {
		found[name] = machines.Type{
			VCPU: t.VCPU, GPUs: t.Slots(), GPU: t.GPU, Maker: t.Maker, Memory: t.Memory, Architectures: t.Architectures, Zones: offered[name],
		}
	}
	var errs []error
	all, missing := r.Known.Types.Learn(ask, found)
	for _, name := range missing {
		errs = append(errs, noType(name, r.Spec.Region))
	}
	r.Known.Types = all
	return errors.Join(errs...)
}

func noType(name, region string) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "ec2:DescribeInstanceTypes", Resource: name,
		Fix: "choose another --instance-type, --aux-instance-type or --master-instance-type, or another --region",
		Err: errors.New("unknown instance type in " + region),
	}
}

func (r *reader) readVolume(ctx context.Context) error {
	id := r.Spec.Master.Volume.ID
	if id == "" {
		r.Known.VolumeZone = ""
		return nil
	}
	zone, err := r.facts.VolumeZone(ctx, id)
	r.Known.VolumeZone = zone
	return err
}

// readSubnets reads the zones of existing subnets.
func (r *reader) readSubnets(ctx context.Context) error {
	var ask []string
	for _, s := range (Layout{Spec: r.Spec}).ExistingSubnets() { // other readers write Known concurrently
		if r.Known.Subnets[s] == "" {
			ask = append(ask, s)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	zones, err := r.facts.SubnetZones(ctx, ask)
	if err != nil {
		return err
	}
	if r.Known.Subnets == nil {
		r.Known.Subnets = make(map[string]string)
	}
	maps.Copy(r.Known.Subnets, zones)
	return nil
}

// ExistingSubnets returns every subnet that the spec names.
func (l Layout) ExistingSubnets() []string {
	s := l.Spec
	out := slices.Clone(s.Network.Subnets)
	for _, p := range s.AllPools() {
		out = append(out, p.Subnets...)
	}
	if s.Master.Subnet != "" {
		out = append(out, s.Master.Subnet)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
