package machines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// masterMemory is the minimum memory of a master and its database in MiB.
const masterMemory = 4096

// Wanted is the requested set of machines and their zones.
type Wanted struct {
	Types Types
	// Master is the type of the master's machine, and MasterZone its zone.
	Master, MasterZone string
	Pools              map[string]Pool
	// Exists reports whether the cluster exists; then a master that is too small is only a warning.
	Exists func(context.Context) bool
	// Fix names the flags that change the types.
	Fix string
}

// Pool is the requested configuration of a pool's machines.
type Pool struct {
	Types, Zones []string
	// Slots is the number of slots of a machine if Given is set; otherwise it is the number of
	// GPUs.
	Slots int
	Given bool
	// CPUSlots gives machines without GPUs a slot.
	CPUSlots bool
}

// Check compares the requested types with those offered in each zone.
func (w Wanted) Check(ctx context.Context) doctor.Result {
	wrong, odd := w.checkMaster(ctx)
	used := []string{w.Master}
	for name, p := range w.Pools {
		pw, po := p.checkTypes(name, w.Types)
		wrong, odd, used = append(wrong, pw...), append(odd, po...), append(used, p.Types...)
	}
	slices.Sort(wrong)
	slices.Sort(odd)
	const needed = "types that are offered in the zones of the machines, with equal slots within a pool"
	switch {
	case len(wrong) > 0:
		return doctor.Failed(strings.Join(wrong, "; "), needed, w.Fix)
	case len(odd) > 0:
		return doctor.Unsure(strings.Join(odd, "; "), needed, "")
	}
	slices.Sort(used)
	return doctor.Passed("%s", strings.Join(slices.Compact(used), ", "))
}

func (w Wanted) checkMaster(ctx context.Context) (wrong, odd []string) {
	t := w.Types[w.Master]
	if !slices.Contains(t.Zones, w.MasterZone) {
		wrong = append(wrong, fmt.Sprintf("%s is not offered in %s, the zone of the master", w.Master, w.MasterZone))
	} else if t.VCPU < 2 {
		odd = append(odd, fmt.Sprintf("%s has %d vCPU", w.Master, t.VCPU))
	}
	if t.Memory == 0 || t.Memory >= masterMemory {
		return wrong, odd
	}
	small := fmt.Sprintf("%s has %d MB of memory, and a master needs %d", w.Master, t.Memory, masterMemory)
	if w.Exists(ctx) {
		return wrong, append(odd, small)
	}
	return append(wrong, small), odd
}

func (p Pool) checkTypes(name string, types Types) (wrong, odd []string) {
	for _, it := range p.Types {
		t, known := types[it]
		if !known {
			wrong = append(wrong, fmt.Sprintf("pool %s: unknown type %s", name, it))
			continue
		}
		if !slices.ContainsFunc(p.Zones, func(z string) bool { return slices.Contains(t.Zones, z) }) {
			wrong = append(wrong, fmt.Sprintf("pool %s: %s is offered in none of its zones", name, it))
		}
		if !p.Given && t.GPUs != p.Slots {
			wrong = append(wrong, fmt.Sprintf("pool %s: %s has %d GPUs, %s has %d", name, it, t.GPUs, p.Types[0], p.Slots))
		}
	}
	if name != spec.AuxPool && p.Slots == 0 && !p.CPUSlots {
		odd = append(odd, fmt.Sprintf("pool %s: %s has no GPU, so tasks with slots do not run there; --cpu-slots gives it one", name, p.Types[0]))
	}
	return wrong, odd
}
