// Package layout is where the machines of a cluster on AWS are and what they boot from:
// zones, subnets, instance types, images and roles, asked of Amazon once and then kept.
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

// Known is what was asked of Amazon once and then kept, so that a new image or
// zone of Amazon's changes no cluster, and a cluster can be taken down without
// asking again.
type Known struct {
	// Zones is where the own VPC has subnets or had some, in the order in which its
	// addresses were cut up: the part of a zone stays its own, and new ones are
	// added at the end. An empty one is a part that no zone has.
	Zones []string `json:"zones,omitempty"`
	// Retired is those of Zones that are not used any more.
	Retired []string `json:"retired,omitempty"`
	// Types is what is known of instance types.
	Types machines.Types `json:"types,omitempty"`
	// Images is the stock images by whom they are for: "master/amd64".
	Images map[string]string `json:"images,omitempty"`
	// Roots is what images of agents call their root disk, by image.
	Roots map[string]string `json:"roots,omitempty"`
	// MasterRoot is what the master's image calls its root disk, where it was looked at in
	// this run; it is not kept.
	MasterRoot string `json:"-"`
	// Subnets is the zones of existing subnets.
	Subnets map[string]string `json:"subnets,omitempty"`
	// Roles is the ARNs of existing roles, by what the spec calls them.
	Roles map[string]string `json:"roles,omitempty"`
	// VolumeZone is that of an existing volume.
	VolumeZone string `json:"volume_zone,omitempty"`
	// DeterminedPassword says that a first password was made for determined; earlier
	// versions made one for admin and determined.
	DeterminedPassword bool `json:"determined_password,omitempty"`
	// DiskKey is the KMS key that disks of the region are encrypted with.
	DiskKey string `json:"disk_key,omitempty"`
	// Master is where the master's machine is.
	Master MasterPlace `json:"master,omitzero"`
}

// Used lists the zones in which the own VPC is to have subnets.
func (k Known) Used() []string {
	return slices.DeleteFunc(slices.Clone(k.Zones), func(z string) bool { return z == "" || slices.Contains(k.Retired, z) })
}

// MasterPlace is where the master's machine is.
type MasterPlace struct {
	Zone string `json:"zone,omitempty"`
}

// ReadKnown reads what Remember wrote.
func ReadKnown(settings map[string]string) (Known, error) { return hosted.ReadKnown[Known](settings) }

// Layout is where a cluster's machines are and what they boot from: what is wanted, and
// what is known of Amazon.
type Layout struct {
	// Spec is what the cluster should be.
	Spec spec.AWS
	// Known is what was asked of Amazon before and is kept.
	Known Known
}

// Look asks Amazon for everything that the spec mentions and that is not known yet, and
// by password whether `up` generates one for the user determined. It changes nothing.
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
		// None of these needs to know what another one learns.
		machines.SideBySide(
			r.readTypes, r.readVolume, r.readSubnets, r.readZones, r.readPublished, r.readRoles, r.readDiskKey, readPassword,
		),
		r.chooseZones, r.readImages, r.readRootDisks,
	)
	if err := look(ctx); err != nil {
		return Known{}, err
	}
	return r.Known, nil
}

// reader is a Look under way: what it knows so far replaces the caller's at the end.
type reader struct {
	Layout

	facts facts.Facts
	// zones are those of the region, published is under which ID each stock image is, and
	// read is the images that were looked at.
	zones     []string
	published map[string]published
	read      map[string]facts.Image
}

// allTypes lists every instance type that the spec names.
func allTypes(s spec.AWS) []string {
	out := []string{s.Master.InstanceType}
	for _, p := range s.AllPools() {
		out = append(out, p.InstanceTypes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// poolTypes lists the instance types of each pool.
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
		Err: errors.New("there is no such instance type in " + region),
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
	for _, s := range (Layout{Spec: r.Spec}).ExistingSubnets() { // others write what is known meanwhile
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

// ExistingSubnets is every subnet that the spec names.
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
