package layout

import (
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// PoolZones returns the zones for a pool's machines, in order of preference. It omits zones that
// offer none of the pool's machine types, and with a disk in base_config all but the disk's zone.
func (l Layout) PoolZones(p spec.GCPPool) []string {
	candidates := l.Known.Zones
	if len(p.Zones) > 0 {
		candidates = p.Zones
	}
	if bound := DiskZones(p); len(bound) > 0 {
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(z string) bool { return !slices.Contains(bound, z) })
	}
	out := slices.DeleteFunc(slices.Clone(candidates), func(z string) bool { return !l.Known.Types.OfferedIn(z, TypesOf(p)) })
	if len(out) == 0 {
		return candidates // the check of machine types reports the problem
	}
	return out
}

// DiskZones returns the zones of the disks in a pool's base_config. More than one is an error,
// which the check of base_config reports.
func DiskZones(p spec.GCPPool) []string {
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil {
		return nil
	}
	return properties.Zones(base)
}

// SlotsOf returns the number of slots of a machine of the pool.
func (l Layout) SlotsOf(p spec.GCPPool) int {
	return l.Known.Types[p.Machines[0].Type().String()].GPUs
}

// Architectures returns the architectures for which programs are needed.
func (l Layout) Architectures() ([]string, error) {
	return l.Known.Types.Architectures(l.Spec.Master.MachineType, poolTypes(l.Spec))
}

// UsesSpot reports whether a pool uses spot instances.
func (l Layout) UsesSpot() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Spec.AllPools())), func(p spec.GCPPool) bool { return p.Spot })
}
