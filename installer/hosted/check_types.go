package hosted

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// masterMemory is the least MiB with which a master and its database run.
const masterMemory = 4096

// WantedMachines is where which machines are to be.
type WantedMachines struct {
	Types MachineTypes
	// Master is the type of the master's machine, and MasterZone where it is to be.
	Master, MasterZone string
	Pools              map[string]WantedPool
}

// WantedPool is what a pool's machines are to be.
type WantedPool struct {
	Types, Zones []string
	// Slots is how many a machine has, where that is Given and not its GPUs.
	Slots int
	Given bool
	// CPUSlots gives a machine without GPUs a slot.
	CPUSlots bool
}

// CheckTypes compares what is wanted with what is offered where.
func (c *Cluster) CheckTypes(ctx context.Context, w WantedMachines) doctor.Result {
	wrong, odd := c.checkMasterType(ctx, w)
	used := []string{w.Master}
	for name, p := range w.Pools {
		pw, po := p.checkTypes(name, w.Types)
		wrong, odd, used = append(wrong, pw...), append(odd, po...), append(used, p.Types...)
	}
	slices.Sort(wrong)
	slices.Sort(odd)
	const needed = "instance types that are offered where the machines are to be, with the same slots within a pool"
	switch {
	case len(wrong) > 0:
		return Fail(strings.Join(wrong, "; "), needed, "choose others with --instance-type, --aux-instance-type or --master-instance-type, or other zones with --zone")
	case len(odd) > 0:
		return Unsure(strings.Join(odd, "; "), needed, "")
	}
	slices.Sort(used)
	return Pass("%s", strings.Join(slices.Compact(used), ", "))
}

func (c *Cluster) checkMasterType(ctx context.Context, w WantedMachines) (wrong, odd []string) {
	t := w.Types[w.Master]
	if !slices.Contains(t.Zones, w.MasterZone) {
		wrong = append(wrong, fmt.Sprintf("%s is not offered in %s, where the master is to be", w.Master, w.MasterZone))
	} else if t.VCPU < 2 {
		odd = append(odd, fmt.Sprintf("%s has %d vCPU", w.Master, t.VCPU))
	}
	if t.Memory == 0 || t.Memory >= masterMemory {
		return wrong, odd
	}
	small := fmt.Sprintf("%s has %d MB of memory, and a master needs %d", w.Master, t.Memory, masterMemory)
	if c.Exists(ctx) {
		return wrong, append(odd, small)
	}
	return append(wrong, small), odd
}

func (p WantedPool) checkTypes(name string, types MachineTypes) (wrong, odd []string) {
	for _, it := range p.Types {
		t, known := types[it]
		if !known {
			wrong = append(wrong, fmt.Sprintf("pool %s: there is no type %s", name, it))
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

// Image is what machines boot from.
type Image struct {
	Name, Architecture string
	// RootSize is the least size of a disk in GB.
	RootSize int
}

// ImageUse is who boots from an image.
type ImageUse struct {
	// Who is "the master" or "pool x".
	Who   string
	Types []string
	// Disk is in GB.
	Disk int
	// Flags names what to change.
	Flags string
}

// CheckImages looks whether each image exists, runs on its types and fits its disk.
func CheckImages(ctx context.Context, uses map[string][]ImageUse, types MachineTypes, look func(ctx context.Context, id string) (Image, error)) doctor.Result {
	const needed = "images for the machines' architectures that fit their disks"
	var wrong, names []string
	fix := ""
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		image, err := look(ctx, id)
		if err != nil {
			return Failed(err, needed)
		}
		names = append(names, fmt.Sprintf("%s (%s)", id, image.Name))
		for _, u := range uses[id] {
			found := image.unfitFor(id, u, types)
			if len(found) > 0 {
				wrong, fix = append(wrong, found...), u.Flags
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return Fail(strings.Join(slices.Compact(wrong), "; "), needed, "choose another with "+fix)
	}
	return Pass("%s", strings.Join(names, ", "))
}

func (i Image) unfitFor(id string, u ImageUse, types MachineTypes) []string {
	var wrong []string
	for _, t := range u.Types {
		if !slices.Contains(types[t].Architectures, i.Architecture) {
			wrong = append(wrong, fmt.Sprintf("%s is for %s and %s of %s is not", id, i.Architecture, t, u.Who))
		}
	}
	if i.RootSize > u.Disk {
		wrong = append(wrong, fmt.Sprintf("%s needs %d GB and %s has %d", id, i.RootSize, u.Who, u.Disk))
	}
	return wrong
}

// CheckExists is a check that something which the user brings is there.
func CheckExists(name, fix string, look func(ctx context.Context) error) doctor.Check {
	return doctor.Check{Name: name, Look: func(ctx context.Context) doctor.Result {
		if err := look(ctx); err != nil {
			r := Failed(err, "that it exists and may be used")
			if r.Fix == "" {
				r.Fix = fix
			}
			return r
		}
		return Pass("exists")
	}}
}
