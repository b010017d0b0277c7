package layout

import (
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/installer/spec"
)

// PoolPlaces returns the zones or existing subnets for a pool's machines, in order of preference.
// It omits places that offer none of the pool's types.
func (l Layout) PoolPlaces(p spec.AWSPool) []string {
	candidates := l.Known.Used()
	switch {
	case l.Spec.Network.Own() && len(p.Zones) > 0:
		candidates = p.Zones
	case !l.Spec.Network.Own() && len(p.Subnets) > 0:
		candidates = p.Subnets
	case !l.Spec.Network.Own():
		candidates = l.Spec.Network.Subnets
	}
	var out []string
	for _, c := range candidates {
		zone := c
		if !l.Spec.Network.Own() {
			zone = l.Known.Subnets[c]
		}
		if l.Known.Types.OfferedIn(zone, p.InstanceTypes) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return candidates // the check of offerings reports the problem
	}
	return out
}

// SlotsOf returns the number of slots of a machine of the pool.
func (l Layout) SlotsOf(p spec.AWSPool) int {
	if p.Slots != nil {
		return *p.Slots
	}
	return l.Known.Types[p.InstanceTypes[0]].GPUs
}

// Architectures returns the architectures for which programs are needed.
func (l Layout) Architectures() ([]string, error) {
	return l.Known.Types.Architectures(l.Spec.Master.InstanceType, poolTypes(l.Spec))
}

// PoolZones returns the zones in which a pool's machines may be launched.
func (l Layout) PoolZones(p spec.AWSPool) []string {
	places := l.PoolPlaces(p)
	if l.Spec.Network.Own() {
		return places
	}
	zones := make([]string, len(places))
	for i, s := range places {
		zones[i] = l.Known.Subnets[s]
	}
	return zones
}

// UsesSpot reports whether a pool uses spot instances.
func (l Layout) UsesSpot() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Spec.AllPools())), func(p spec.AWSPool) bool { return p.Spot })
}
