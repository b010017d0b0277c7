// Package machines describes the machine types of a cloud, and checks whether those of a cluster
// are offered in their zones, match their images and fit the remaining quotas.
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

// Type describes a machine type.
type Type struct {
	VCPU  int    `json:"vcpu"`
	GPUs  int    `json:"gpus,omitempty"`
	GPU   string `json:"gpu,omitempty"`
	Maker string `json:"gpu_maker,omitempty"`
	// Memory is in MiB. It is 0 in records of an older det-deploy, and the type is then read again.
	Memory        int      `json:"memory,omitempty"`
	Architectures []string `json:"architectures"`
	// Zones lists the zones that offer the type.
	Zones []string `json:"zones,omitempty"`
}

// Types maps names to machine types.
type Types map[string]Type

// Unread returns the names of types that are not completely known.
func (m Types) Unread(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return m[name].Memory != 0 })
}

// Learn adds the types found to m, and keeps the zones that are known already. It returns m and the
// names among asked that were not found.
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

// Architecture returns the architecture that the types have in common, or an error if they have
// none.
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
			Fix: "use separate pools for them", Err: errors.New("no image runs on all of them"),
		}
	}
	return common[0], nil
}

// Architectures returns the architectures of the master and of the pools; pools maps names to
// machine types.
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

// Largest returns the type with the most vCPUs.
func (m Types) Largest(types []string) string {
	return slices.MaxFunc(types, func(a, b string) int { return m[a].VCPU - m[b].VCPU })
}

// ChooseZone returns the first non-empty zone of given, or else the first of used that offers the
// type.
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

// ChooseZones returns at most most zones. It prefers zones that offer the master's type and a type
// of each pool; without such a zone, it returns those that offer any of them.
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
