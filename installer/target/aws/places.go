package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// mostZones is how many zones an own VPC has subnets in by itself: each is one
// more place to find a machine in, and three are what most regions have.
const mostZones = 4

// chooseZones chooses where an own VPC has subnets: what was chosen stays.
func (l *looking) chooseZones(ctx context.Context) error {
	if !l.Spec.Network.Own() {
		l.known.Master.Zone = l.known.Subnets[l.masterSubnet()]
		return nil
	}
	all, err := l.facts.Zones(ctx)
	if err != nil {
		return err
	}
	l.known.Zones, l.known.Retired, err = chooseZones(l.Spec, *l.known, all)
	if err != nil {
		return err
	}
	l.known.Master.Zone, err = chooseMasterZone(l.Spec, *l.known)
	return err
}

// chooseZones is pure: those that the spec names, or those that offer what the
// pools want. The ones chosen before keep their places; those that are not wanted
// any more are retired.
func chooseZones(s spec.AWS, k Known, all []string) (zones, retired []string, err error) {
	auto := len(s.Network.Zones) == 0
	if auto && len(k.Used()) > 0 {
		return k.Zones, k.Retired, nil
	}
	wanted := s.Network.Zones
	if auto {
		wanted = k.Types.ChooseZones(all, s.Master.InstanceType, poolTypes(s), mostZones)
	}
	if len(wanted) == 0 {
		return nil, nil, errNotOffered(AllTypes(s), s.Region)
	}
	zones = slices.Clone(k.Zones)
	for _, z := range wanted {
		if !slices.Contains(all, z) {
			return nil, nil, &cloud.Error{
				Kind: cloud.Invalid, Op: "ec2:DescribeAvailabilityZones", Resource: z,
				Fix: "choose among " + strings.Join(all, ", ") + " with --zone",
				Err: errors.New("there is no such zone for this account in " + s.Region),
			}
		}
		zones = addZone(zones, z, wanted)
	}
	for _, z := range zones {
		if z != "" && !slices.Contains(wanted, z) {
			retired = append(retired, z)
		}
	}
	return zones, retired, nil
}

// addZone gives a zone a part of the addresses: its own, a new one, or when all are
// taken, that of a zone which is not wanted.
func addZone(zones []string, z string, wanted []string) []string {
	if slices.Contains(zones, z) {
		return zones
	}
	if len(zones) < parts {
		return append(zones, z)
	}
	if i := slices.IndexFunc(zones, func(o string) bool { return !slices.Contains(wanted, o) }); i >= 0 {
		zones[i] = z
	}
	return zones
}

// chooseMasterZone is pure: the zone that the spec names, that of an existing
// volume, the one chosen before, or the first that offers the type.
func chooseMasterZone(s spec.AWS, k Known) (string, error) {
	offered := k.Types[s.Master.InstanceType].Zones
	for _, z := range []string{s.Master.Zone, k.VolumeZone, k.Master.Zone} {
		if z == "" {
			continue
		}
		if !slices.Contains(k.Used(), z) {
			return "", &cloud.Error{
				Kind: cloud.Invalid, Op: "place the master", Resource: z,
				Fix: "--zone " + strings.Join(append(k.Used(), z), ","), Err: errors.New("the cluster's network has no subnet there"),
			}
		}
		return z, nil
	}
	for _, z := range k.Used() {
		if slices.Contains(offered, z) {
			return z, nil
		}
	}
	return "", errNotOffered([]string{s.Master.InstanceType}, s.Region)
}

// moveMaster names the flags that put the master where its data is.
func (t *Target) moveMaster(zone string) string {
	switch {
	case t.Spec.Network.Own() && slices.Contains(t.Known.Used(), zone):
		return "--master-zone " + zone
	case t.Spec.Network.Own():
		return "--zone " + strings.Join(append(t.Known.Used(), zone), ",") + " --master-zone " + zone
	}
	for _, s := range slices.Sorted(maps.Keys(t.Known.Subnets)) {
		if t.Known.Subnets[s] == zone {
			return "--master-subnet " + s
		}
	}
	return "--master-subnet with a subnet of the VPC in " + zone + ", where the data is"
}

func errNotOffered(types []string, region string) error {
	return &cloud.Error{
		Kind: cloud.NoCapacity, Op: "ec2:DescribeInstanceTypeOfferings", Resource: strings.Join(types, ", "),
		Fix: "choose another instance type or --region", Err: errors.New("offered in no zone of " + region + " that the cluster may use"),
	}
}

// masterSubnet is the existing subnet of the master.
func (t *Target) masterSubnet() string {
	if t.Spec.Master.Subnet != "" {
		return t.Spec.Master.Subnet
	}
	if len(t.Spec.Network.Subnets) > 0 {
		return t.Spec.Network.Subnets[0]
	}
	return ""
}

// poolPlaces lists the zones or existing subnets of a pool's machines, in order of
// preference. A place that offers none of the pool's types is left out.
func (t *Target) poolPlaces(p spec.AWSPool) []string {
	candidates := t.Known.Used()
	switch {
	case t.Spec.Network.Own() && len(p.Zones) > 0:
		candidates = p.Zones
	case !t.Spec.Network.Own() && len(p.Subnets) > 0:
		candidates = p.Subnets
	case !t.Spec.Network.Own():
		candidates = t.Spec.Network.Subnets
	}
	var out []string
	for _, c := range candidates {
		zone := c
		if !t.Spec.Network.Own() {
			zone = t.Known.Subnets[c]
		}
		if t.Known.Types.OfferedIn(zone, p.InstanceTypes) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return candidates // the check of offerings says so
	}
	return out
}

// slotsOf is the number of slots of a machine of the pool.
func (t *Target) slotsOf(p spec.AWSPool) int {
	if p.Slots != nil {
		return *p.Slots
	}
	return t.Known.Types[p.InstanceTypes[0]].GPUs
}

// Architectures lists those for which programs are needed.
func (t *Target) Architectures() ([]string, error) {
	return t.Known.Types.Architectures(t.Spec.Master.InstanceType, poolTypes(t.Spec))
}
