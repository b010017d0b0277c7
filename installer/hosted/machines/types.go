// Package machines is what is known of the types of machines that a cloud offers, and
// whether those that a cluster is to have fit: in their zones, on their images, within
// what is left of quotas.
package machines

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// Type is what is known of a type of machine.
type Type struct {
	VCPU  int    `json:"vcpu"`
	GPUs  int    `json:"gpus,omitempty"`
	GPU   string `json:"gpu,omitempty"`
	Maker string `json:"gpu_maker,omitempty"`
	// Memory is in MiB. It is 0 in what an older det-deploy has written, which is
	// asked for again.
	Memory        int      `json:"memory,omitempty"`
	Architectures []string `json:"architectures"`
	// Zones is where it was offered.
	Zones []string `json:"zones,omitempty"`
}

// Types is what is known of types of machines, by name.
type Types map[string]Type

// Unread lists the names of types of which not everything is known.
func (m Types) Unread(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return m[name].Memory != 0 })
}

// Learn adds what was found of the types that were asked for; zones that were known stay.
// It returns m, and the names of those that are not known.
func (m Types) Learn(asked []string, found Types) (all Types, missing []string) {
	if m == nil {
		m = make(Types)
	}
	for _, name := range asked {
		t, ok := found[name]
		before, known := m[name]
		if ok && len(before.Zones) > 0 {
			t.Zones = before.Zones
		}
		switch {
		case ok:
			m[name] = t
		case !known:
			missing = append(missing, name)
		}
	}
	return m, missing
}

// Architecture is that of types, which must have one in common.
func (m Types) Architecture(types ...string) (string, error) {
	var common []string
	for i, name := range types {
		archs := m[name].Architectures
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

// Architectures lists those of a master and of pools, whose types are given by the
// pool's name.
func (m Types) Architectures(master string, pools map[string][]string) ([]string, error) {
	need := map[string]bool{}
	arch, err := m.Architecture(master)
	errs := []error{err}
	need[arch] = true
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		arch, err := m.Architecture(pools[name]...)
		if err != nil {
			errs = append(errs, fmt.Errorf("pool %s: %w", name, err))
		}
		need[arch] = true
	}
	return slices.Sorted(maps.Keys(need)), errors.Join(errs...)
}

// OfferedIn reports whether a zone offers any of the types.
func (m Types) OfferedIn(zone string, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(m[t].Zones, zone) })
}

// Largest is the type with the most vCPUs.
func (m Types) Largest(types []string) string {
	return slices.MaxFunc(types, func(a, b string) int { return m[a].VCPU - m[b].VCPU })
}

// ChooseZone is the first of the given zones that is not empty, or else the first of those
// that may be used and offer a type.
func (m Types) ChooseZone(name string, used []string, given ...string) (zone string, found bool) {
	if zone = cmp.Or(given...); zone != "" {
		return zone, true
	}
	i := slices.IndexFunc(used, func(z string) bool { return m.OfferedIn(z, []string{name}) })
	if i < 0 {
		return "", false
	}
	return used[i], true
}

// ChooseZones lists the zones that offer a type of each pool and the master's, and
// where there are none, those that offer any of them; at most so many.
func (m Types) ChooseZones(all []string, master string, pools map[string][]string, most int) []string {
	var every, some []string
	for _, z := range all {
		served := 0
		for _, types := range pools {
			if m.OfferedIn(z, types) {
				served++
			}
		}
		here := m.OfferedIn(z, []string{master})
		if served == len(pools) && here {
			every = append(every, z)
		}
		if served > 0 || here {
			some = append(some, z)
		}
	}
	if len(every) == 0 {
		every = some
	}
	return every[:min(len(every), most)]
}
