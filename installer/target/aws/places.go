package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// mostZones is how many zones an own VPC has subnets in by itself: each is one
// more place to find a machine in, and three are what most regions have.
const mostZones = 4

// zones chooses where an own VPC has subnets: what was chosen stays.
func (l *looking) zones(ctx context.Context) error {
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
		wanted = offering(s, k, all)
	}
	if len(wanted) == 0 {
		return nil, nil, nowhere(AllTypes(s), s.Region)
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
		zones = placed(zones, z, wanted)
	}
	for _, z := range zones {
		if z != "" && !slices.Contains(wanted, z) {
			retired = append(retired, z)
		}
	}
	return zones, retired, nil
}

// placed gives a zone a part of the addresses: its own, a new one, or when there is
// none, that of a zone which is not wanted.
func placed(zones []string, z string, wanted []string) []string {
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

// offering lists the zones that offer a type of each pool and the master's, and
// where there are none, those that offer any of them.
func offering(s spec.AWS, k Known, all []string) []string {
	var every, some []string
	for _, z := range all {
		pools, served := s.AllPools(), 0
		for _, p := range pools {
			if slices.ContainsFunc(p.InstanceTypes, func(t string) bool { return slices.Contains(k.Types[t].Zones, z) }) {
				served++
			}
		}
		master := slices.Contains(k.Types[s.Master.InstanceType].Zones, z)
		if served == len(pools) && master {
			every = append(every, z)
		}
		if served > 0 || master {
			some = append(some, z)
		}
	}
	if len(every) == 0 {
		every = some
	}
	return every[:min(len(every), mostZones)]
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
	return "", nowhere([]string{s.Master.InstanceType}, s.Region)
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

func nowhere(types []string, region string) error {
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

// places lists where a pool's machines may stand, by zone or existing subnet, in
// order of preference. A place that offers none of its types is left out.
func (t *Target) places(p spec.AWSPool) []string {
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
		offered := slices.ContainsFunc(p.InstanceTypes, func(name string) bool { return slices.Contains(t.Known.Types[name].Zones, zone) })
		if offered {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return candidates // the check of offerings says so
	}
	return out
}

// slots is how many slots a machine of the pool has.
func (t *Target) slots(p spec.AWSPool) int {
	if p.Slots != nil {
		return *p.Slots
	}
	return t.Known.Types[p.InstanceTypes[0]].GPUs
}

// architecture is that of instance types, which must have one in common.
func (k Known) architecture(types ...string) (string, error) {
	var common []string
	for i, name := range types {
		archs := k.Types[name].Architectures
		if i == 0 {
			common = slices.Clone(archs)
			continue
		}
		common = slices.DeleteFunc(common, func(a string) bool { return !slices.Contains(archs, a) })
	}
	if len(common) == 0 {
		return "", &cloud.Error{
			Kind: cloud.Invalid, Op: "choose an image", Resource: strings.Join(types, ", "),
			Fix: "put them into pools of their own", Err: errors.New("no image runs on all of them"),
		}
	}
	return common[0], nil
}

// Architectures lists those for which programs are needed.
func (t *Target) Architectures() ([]string, error) {
	need := map[string]bool{}
	master, err := t.Known.architecture(t.Spec.Master.InstanceType)
	errs := []error{err}
	need[master] = true
	for _, name := range slices.Sorted(maps.Keys(t.Spec.AllPools())) {
		arch, err := t.Known.architecture(t.Spec.AllPools()[name].InstanceTypes...)
		if err != nil {
			errs = append(errs, fmt.Errorf("pool %s: %w", name, err))
		}
		need[arch] = true
	}
	return slices.Sorted(maps.Keys(need)), errors.Join(errs...)
}

// The keys of stock images.
const (
	masterStock = "master/"
	agentStock  = "agent/"
)

// images asks for the stock images that are needed and not known.
func (l *looking) images(ctx context.Context) error {
	for key, stock := range l.wantedStock() {
		if l.known.Images[key] != "" {
			continue
		}
		_, arch, _ := strings.Cut(key, "/")
		image, err := l.facts.Newest(ctx, stock, arch)
		if err != nil {
			return err
		}
		if l.known.Images == nil {
			l.known.Images = make(map[string]string)
		}
		l.known.Images[key] = image.ID
	}
	return nil
}

// roots asks what agents' images call their root disk. The master, which may not
// look at images, launches machines by it. An image that cannot be looked at is for
// the checks to tell of.
func (l *looking) roots(ctx context.Context) error {
	roots := map[string]string{}
	for _, p := range l.Spec.AllPools() {
		id := l.known.agentImage(l.Spec, p)
		if id == "" || roots[id] != "" {
			continue
		}
		if roots[id] = l.known.Roots[id]; roots[id] != "" {
			continue
		}
		image, err := l.facts.Image(ctx, id)
		switch cloud.KindOf(err) {
		case "":
			roots[id] = image.RootDevice
		case cloud.NotFound, cloud.Invalid, cloud.Denied:
			delete(roots, id)
		default:
			return err
		}
	}
	l.known.Roots = roots
	return nil
}

func (l *looking) wantedStock() map[string]facts.Stock {
	out := map[string]facts.Stock{}
	if l.Spec.Master.Image == "" {
		if arch, err := l.known.architecture(l.Spec.Master.InstanceType); err == nil {
			out[masterStock+arch] = facts.MasterStock()
		}
	}
	for _, p := range l.Spec.AllPools() {
		if p.Image != "" || l.Spec.Agents.Image != "" {
			continue
		}
		if arch, err := l.known.architecture(p.InstanceTypes...); err == nil {
			out[agentStock+arch] = facts.AgentStock()
		}
	}
	return out
}

// masterImage and agentImage are the images to boot from.
func (t *Target) masterImage() string {
	if t.Spec.Master.Image != "" {
		return t.Spec.Master.Image
	}
	arch, err := t.Known.architecture(t.Spec.Master.InstanceType)
	if err != nil {
		return ""
	}
	return t.Known.Images[masterStock+arch]
}

func (t *Target) agentImage(p spec.AWSPool) string { return t.Known.agentImage(t.Spec, p) }

func (k Known) agentImage(s spec.AWS, p spec.AWSPool) string {
	if image := cmp.Or(p.Image, s.Agents.Image); image != "" {
		return image
	}
	arch, err := k.architecture(p.InstanceTypes...)
	if err != nil {
		return ""
	}
	return k.Images[agentStock+arch]
}
