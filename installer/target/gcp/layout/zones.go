package layout

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// readZones reads the zones of the region once, and again if the spec names an unknown one.
func (r *reader) readZones(ctx context.Context) error {
	named := namedZones(r.Spec)
	if len(r.Known.Zones) > 0 && !slices.ContainsFunc(named, func(z string) bool { return !slices.Contains(r.Known.Zones, z) }) {
		return nil
	}
	all, err := r.facts.Zones(ctx)
	if err != nil {
		return err
	}
	if len(r.Known.Zones) == 0 {
		r.Known.Zones = all
	}
	for _, z := range named {
		switch {
		case slices.Contains(r.Known.Zones, z):
		case !slices.Contains(all, z):
			return errNoZone(z, r.Spec.Region, all)
		default:
			r.Known.Zones = append(r.Known.Zones, z)
			r.Known.Types = nil // read again, for the new zones too
		}
	}
	return nil
}

// namedZones returns the zones that the spec names.
func namedZones(s spec.GCP) []string {
	var out []string
	if s.Master.Zone != "" {
		out = append(out, s.Master.Zone)
	}
	for _, p := range s.AllPools() {
		out = append(out, p.Zones...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func errNoZone(zone, region string, all []string) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "compute.zones.list", Resource: zone,
		Fix: "choose among " + strings.Join(all, ", ") + " with --zone or --pool-zone",
		Err: errors.New("not an available zone in " + region),
	}
}

// Used returns the zones in which machines of the cluster may run.
func (l Layout) Used() []string {
	used := map[string]bool{}
	if l.Known.Master.Zone != "" {
		used[l.Known.Master.Zone] = true
	}
	for _, p := range l.Spec.AllPools() {
		for _, z := range l.PoolZones(p) {
			used[z] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// readDisk reads the zone of an existing disk for the master's data.
func (r *reader) readDisk(ctx context.Context) error {
	name := r.Spec.Master.Disk.Name
	if name == "" {
		r.Known.DiskZone = ""
		return nil
	}
	zone, err := r.facts.DiskZone(ctx, name)
	r.Known.DiskZone = zone
	return err
}

// chooseMasterZone chooses the master's zone. An existing disk determines it, and an earlier choice
// stays.
func (r *reader) chooseMasterZone(context.Context) error {
	kind := r.Spec.Master.MachineType
	zone, found := r.Known.Types.ChooseZone(kind, r.Known.Zones, r.Known.DiskZone, r.Spec.Master.Zone, r.Known.Master.Zone)
	if !found {
		return errNotOffered(kind, r.Spec.Region)
	}
	if !slices.Contains(r.Known.Zones, zone) {
		return errNoZone(zone, r.Spec.Region, r.Known.Zones)
	}
	r.Known.Master.Zone = zone
	return nil
}

func errNotOffered(kind, region string) error {
	return &cloud.Error{
		Kind: cloud.NoCapacity, Op: "compute.machineTypes.list", Resource: kind,
		Fix: "choose another --master-machine-type or --region", Err: errors.New("not offered in any zone of " + region + " that the cluster may use"),
	}
}

// MasterPlace returns the location of the master's machine and the alternatives.
func (l Layout) MasterPlace() hosted.MasterPlace {
	kind := l.Spec.Master.MachineType
	p := hosted.MasterPlace{
		Type: kind, Zone: l.Known.Master.Zone,
		Zones: slices.DeleteFunc(slices.Clone(l.Known.Zones), func(z string) bool { return !l.Known.Types.OfferedIn(z, []string{kind}) }),
		Fix:   "try again later, or choose another --master-machine-type, or another --region for a new cluster",
		Wait:  "try again later, or choose another --master-machine-type",
	}
	switch {
	case l.Known.DiskZone != "":
		p.Bound, p.Fix = "where disk "+l.Spec.Master.Disk.Name+" is", p.Wait
	case l.Spec.Master.Zone != "":
		p.Bound, p.Fix = "which --zone names", `choose another --zone, or any with --zone "", or another --master-machine-type`
	}
	return p
}
