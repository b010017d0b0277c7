package layout

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// mostZones is the default maximum of zones in a managed VPC. Each zone adds capacity, and most
// regions have three.
const mostZones = 4

// readZones reads the zones of the region for a managed VPC.
func (r *reader) readZones(ctx context.Context) (err error) {
	if r.Spec.Network.Own() {
		r.zones, err = r.facts.Zones(ctx)
	}
	return err
}

// chooseZones chooses the zones of a managed VPC. Earlier choices stay.
func (r *reader) chooseZones(context.Context) (err error) {
	if !r.Spec.Network.Own() {
		r.Known.Master.Zone = r.Known.Subnets[r.MasterSubnet()]
		return nil
	}
	r.Known.Zones, r.Known.Retired, err = chooseZones(r.Spec, r.Known, r.zones)
	if err != nil {
		return err
	}
	r.Known.Master.Zone, err = chooseMasterZone(r.Spec, r.Known)
	return err
}

// chooseZones is pure. It returns the zones that the spec names, or those that offer the types of
// the pools. Zones chosen before keep their address ranges; unused ones are retired.
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
		return nil, nil, errNotOffered(allTypes(s), s.Region)
	}
	zones = slices.Clone(k.Zones)
	for _, z := range wanted {
		if !slices.Contains(all, z) {
			return nil, nil, &cloud.Error{
				Kind: cloud.Invalid, Op: "ec2:DescribeAvailabilityZones", Resource: z,
				Fix: "choose among " + strings.Join(all, ", ") + " with --zone",
				Err: errors.New("not a zone that this account may use in " + s.Region),
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

// addZone assigns an address range to a zone: its own, a new one, or, when all are taken, that of
// an unused zone.
func addZone(zones []string, z string, wanted []string) []string {
	if slices.Contains(zones, z) {
		return zones
	}
	if len(zones) < Parts {
		return append(zones, z)
	}
	if i := slices.IndexFunc(zones, func(o string) bool { return !slices.Contains(wanted, o) }); i >= 0 {
		zones[i] = z
	}
	return zones
}

// chooseMasterZone is pure. It returns the zone that the spec names, that of an existing volume,
// the one chosen before, or the first that offers the type.
func chooseMasterZone(s spec.AWS, k Known) (string, error) {
	zone, found := k.Types.ChooseZone(s.Master.InstanceType, k.Used(), s.Master.Zone, k.VolumeZone, k.Master.Zone)
	switch {
	case !found:
		return "", errNotOffered([]string{s.Master.InstanceType}, s.Region)
	case !slices.Contains(k.Used(), zone):
		return "", &cloud.Error{
			Kind: cloud.Invalid, Op: "place the master", Resource: zone,
			Fix: "--zone " + strings.Join(append(k.Used(), zone), ","), Err: errors.New("the cluster's network has no subnet there"),
		}
	}
	return zone, nil
}

// MoveMaster returns the flags that place the master in the zone of its data.
func (l Layout) MoveMaster(zone string) string {
	switch {
	case l.Spec.Network.Own() && slices.Contains(l.Known.Used(), zone):
		return "--master-zone " + zone
	case l.Spec.Network.Own():
		return "--zone " + strings.Join(append(l.Known.Used(), zone), ",") + " --master-zone " + zone
	}
	for _, s := range slices.Sorted(maps.Keys(l.Known.Subnets)) {
		if l.Known.Subnets[s] == zone {
			return "--master-subnet " + s
		}
	}
	return "--master-subnet with a subnet of the VPC in " + zone + ", where the data is"
}

func errNotOffered(types []string, region string) error {
	return &cloud.Error{
		Kind: cloud.NoCapacity, Op: "ec2:DescribeInstanceTypeOfferings", Resource: strings.Join(types, ", "),
		Fix: "choose another instance type or --region", Err: errors.New("not offered in any zone of " + region + " that the cluster may use"),
	}
}

// MasterPlace returns the location of the master's machine and the alternatives: in a managed VPC,
// the other zones, each of which has a subnet.
func (l Layout) MasterPlace() hosted.MasterPlace {
	kind := l.Spec.Master.InstanceType
	p := hosted.MasterPlace{
		Type: kind, Zone: l.Known.Master.Zone,
		Zones: slices.DeleteFunc(l.Known.Used(), func(z string) bool { return !l.Known.Types.OfferedIn(z, []string{kind}) }),
		Fix:   "try again later, or choose another --master-instance-type, or more zones with --zone",
		Wait:  "try again later, or choose another --master-instance-type",
	}
	switch {
	case l.Known.VolumeZone != "":
		p.Bound, p.Fix = "where volume "+l.Spec.Master.Volume.ID+" is", p.Wait
	case !l.Spec.Network.Own():
		p.Bound, p.Fix = "where "+l.MasterSubnet()+" is", "choose a subnet in another zone with --master-subnet, or another --master-instance-type"
	case l.Spec.Master.Zone != "":
		p.Bound, p.Fix = "which --master-zone names", `choose another --master-zone, or any with --master-zone "", or another --master-instance-type`
	}
	return p
}

// MasterSubnet returns the existing subnet of the master.
func (l Layout) MasterSubnet() string {
	if l.Spec.Master.Subnet != "" {
		return l.Spec.Master.Subnet
	}
	if len(l.Spec.Network.Subnets) > 0 {
		return l.Spec.Network.Subnets[0]
	}
	return ""
}

// Parts is the number of subnets into which the range of a managed VPC is divided.
const Parts = 8

// PartOf returns the i-th of Parts equal parts of a range.
func PartOf(p netip.Prefix, i int) netip.Prefix {
	a, bits := p.Masked().Addr().As4(), p.Bits()+3
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+uint32(i)<<(32-bits))
	return netip.PrefixFrom(netip.AddrFrom4(a), bits)
}
