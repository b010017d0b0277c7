package layout

import (
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// PoolZones lists the zones of a pool's machines, in order of preference. A zone that
// offers none of the pool's machines is left out, and a disk of base_config leaves only
// its own.
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
		return candidates // the check of machine types says so
	}
	return out
}

// DiskZones are the zones of the disks of a pool's base_config, of which there is one at
// most: the check of base_config says what is wrong with it.
func DiskZones(p spec.GCPPool) []string {
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil {
		return nil
	}
	return properties.Zones(base)
}

// SlotsOf is the number of slots of a machine of the pool.
func (l Layout) SlotsOf(p spec.GCPPool) int {
	return l.Known.Types[p.Machines[0].Type().String()].GPUs
}

// Architectures lists those for which programs are needed.
func (l Layout) Architectures() ([]string, error) {
	return l.Known.Types.Architectures(l.Spec.Master.MachineType, poolTypes(l.Spec))
}

// UsesSpot reports whether a pool has spot instances.
func (l Layout) UsesSpot() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Spec.AllPools())), func(p spec.GCPPool) bool { return p.Spot })
}
