package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
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

// Remember is the settings with what is known, for the record.
func (t *Target) Remember() (map[string]string, error) { return hosted.Remember(t.Settings, t.Known) }

// Look asks Amazon for everything that the spec mentions and that is not known
// yet. It changes nothing.
func (t *Target) Look(ctx context.Context) error {
	k := t.Known
	k.Types, k.Images, k.Subnets = maps.Clone(k.Types), maps.Clone(k.Images), maps.Clone(k.Subnets)
	k.Roots = maps.Clone(k.Roots)
	k.Zones = slices.Clone(k.Zones)
	l := &looking{Target: t, facts: facts.Facts{Clients: t.Clients}, known: &k}
	for _, look := range []func(context.Context) error{l.readTypes, l.readVolume, l.readSubnets, l.chooseZones, l.readImages, l.readRootDisks, l.readRoles, l.readPasswords, l.diskKey} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	t.Known = k
	return nil
}

// looking is a Look under way.
type looking struct {
	*Target

	// known is what is known so far; the target's own is replaced at the end.
	known *Known
	facts facts.Facts
}

// AllTypes lists every instance type that the spec names.
func AllTypes(s spec.AWS) []string {
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

func (l *looking) readTypes(ctx context.Context) error {
	var ask []string
	for _, name := range AllTypes(l.Spec) {
		if l.known.Types[name].Memory == 0 {
			ask = append(ask, name)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	types, err := l.facts.Types(ctx, ask...)
	if err != nil {
		return err
	}
	offered, err := l.facts.Offered(ctx, ask...)
	if err != nil {
		return err
	}
	if l.known.Types == nil {
		l.known.Types = make(machines.Types)
	}
	var errs []error
	for _, name := range ask {
		t, ok := types[name]
		before, known := l.known.Types[name]
		switch {
		case ok:
			l.known.Types[name] = typeOf(t, pickZones(before.Zones, offered[name]))
		case !known:
			errs = append(errs, noType(name, l.Spec.Region))
		}
	}
	return errors.Join(errs...)
}

func typeOf(t facts.Type, zones []string) machines.Type {
	return machines.Type{
		VCPU: t.VCPU, GPUs: t.Slots(), GPU: t.GPU, Maker: t.Maker, Memory: t.Memory, Architectures: t.Architectures, Zones: zones,
	}
}

// pickZones are the zones that were known before, which stay, or those of now.
func pickZones(before, now []string) []string {
	if len(before) > 0 {
		return before
	}
	return now
}

func noType(name, region string) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "ec2:DescribeInstanceTypes", Resource: name,
		Fix: "choose another --instance-type, --aux-instance-type or --master-instance-type, or another --region",
		Err: errors.New("there is no such instance type in " + region),
	}
}

func (l *looking) readVolume(ctx context.Context) error {
	id := l.Spec.Master.Volume.ID
	if id == "" {
		l.known.VolumeZone = ""
		return nil
	}
	out, err := l.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return fmt.Errorf("look at the existing volume %s: %w", id, err)
	}
	for _, v := range out.Volumes {
		l.known.VolumeZone = aws.ToString(v.AvailabilityZone)
	}
	return nil
}

// readSubnets reads the zones of existing subnets.
func (l *looking) readSubnets(ctx context.Context) error {
	var ask []string
	for _, s := range existingSubnets(l.Spec) {
		if l.known.Subnets[s] == "" {
			ask = append(ask, s)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	out, err := l.Clients.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: ask})
	if err != nil {
		return fmt.Errorf("look at the existing subnets: %w", err)
	}
	if l.known.Subnets == nil {
		l.known.Subnets = make(map[string]string)
	}
	for _, s := range out.Subnets {
		l.known.Subnets[aws.ToString(s.SubnetId)] = aws.ToString(s.AvailabilityZone)
	}
	return nil
}

// existingSubnets is every subnet that the spec names.
func existingSubnets(s spec.AWS) []string {
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

// readPasswords reads whether `up` generates a password for determined.
func (l *looking) readPasswords(ctx context.Context) (err error) {
	l.known.DeterminedPassword, err = l.WantsDeterminedPassword(ctx)
	return err
}
