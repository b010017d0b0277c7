package facts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Type describes a machine type with its GPUs.
type Type struct {
	Name string
	VCPU int
	// Memory is in MiB.
	Memory int
	// GPUs is the number of GPUs and GPU their type: "nvidia-l4".
	GPUs int
	GPU  string
	// Architectures lists "amd64" and "arm64", Go's names.
	Architectures []string
	// Zones are the zones that offer it.
	Zones []string
}

// String formats the type for display: "g2-standard-4 (4 vCPU, 16 GB, 1 x nvidia-l4)".
func (t Type) String() string {
	s := fmt.Sprintf("%s (%d vCPU, %d GB", t.Name, t.VCPU, t.Memory>>10)
	if t.GPUs > 0 {
		s += fmt.Sprintf(", %d x %s", t.GPUs, t.GPU)
	}
	return s + ")"
}

// GPUType is a GPU type.
type GPUType struct {
	// Name is Google's name: "nvidia-tesla-t4".
	Name string
	// Most is the maximum number per instance.
	Most int
	// Zones are the zones that offer it.
	Zones []string
}

// zoneOffer holds the machine types and GPU types of one zone.
type zoneOffer struct {
	machines []*compute.MachineType
	gpus     []*compute.AcceleratorType
}

// Types returns the wanted machines with the zones that offer them. A machine type that no zone
// offers is missing in the result; one whose GPUs no zone offers has no zones.
func (f Facts) Types(ctx context.Context, zones []string, wanted ...machinetype.Type) (map[string]Type, error) {
	offers, err := askEach(zones, func(zone string) (zoneOffer, error) { return f.readZone(ctx, zone, wanted) })
	if err != nil {
		return nil, fmt.Errorf("list machine types: %w", err)
	}
	out := make(map[string]Type)
	for _, w := range wanted {
		if t, found := findType(w, zones, offers); found {
			out[t.Name] = t
		}
	}
	return out, nil
}

// readZone queries one zone for the wanted machines.
func (f Facts) readZone(ctx context.Context, zone string, wanted []machinetype.Type) (o zoneOffer, err error) {
	var names []string
	givenGPUs := false
	for _, w := range wanted {
		for _, name := range listedNames(w) {
			names = append(names, `(name = "`+name+`")`)
		}
		givenGPUs = givenGPUs || takesGPUs(w)
	}
	slices.Sort(names)
	err = infra.SideBySide(func() (err error) {
		o.machines, err = f.listMachineTypes(ctx, zone, strings.Join(slices.Compact(names), " OR "))
		return err
	}, func() (err error) {
		if givenGPUs {
			o.gpus, err = f.listGPUTypes(ctx, zone)
		}
		return err
	})
	return o, err
}

func (f Facts) listMachineTypes(ctx context.Context, zone, filter string) ([]*compute.MachineType, error) {
	return api.List(ctx, f.Clients.Compute.MachineTypes.List(f.Clients.Project, zone).Filter(filter), func(p *compute.MachineTypeList) []*compute.MachineType { return p.Items })
}

func (f Facts) listGPUTypes(ctx context.Context, zone string) ([]*compute.AcceleratorType, error) {
	return api.List(ctx, f.Clients.Compute.AcceleratorTypes.List(f.Clients.Project, zone), func(p *compute.AcceleratorTypeList) []*compute.AcceleratorType { return p.Items })
}

// takesGPUs reports whether GPUs are attached to the machine type.
func takesGPUs(t machinetype.Type) bool { return t.GPUs > 0 && !t.BringsGPUs() }

func findType(w machinetype.Type, zones []string, offers []zoneOffer) (t Type, found bool) {
	for i, o := range offers {
		m, here := findListed(w, o.machines)
		if !here {
			continue
		}
		if !found {
			t, found = describeType(w, m), true
		}
		if !takesGPUs(w) || slices.ContainsFunc(o.gpus, func(g *compute.AcceleratorType) bool { return g.Name == w.GPUType && isOffered(g.Deprecated) }) {
			t.Zones = append(t.Zones, zones[i])
		}
	}
	return t, found
}

func describeType(w machinetype.Type, m *compute.MachineType) Type {
	t := Type{Name: w.String(), VCPU: int(m.GuestCpus), Memory: int(m.MemoryMb), Architectures: []string{architectureOf(m.Architecture)}}
	for _, a := range m.Accelerators {
		t.GPU, t.GPUs = a.GuestAcceleratorType, t.GPUs+int(a.GuestAcceleratorCount)
	}
	if takesGPUs(w) {
		t.GPU, t.GPUs = w.GPUType, int(w.GPUs)
	}
	return t
}

// architectureOf returns Go's name of an architecture. Google omits it for x86.
func architectureOf(google string) string {
	if strings.EqualFold(google, "ARM64") {
		return "arm64"
	}
	return "amd64"
}

// isOffered reports whether Google still offers a resource.
func isOffered(d *compute.DeprecationStatus) bool {
	return d == nil || d.State != "OBSOLETE" && d.State != "DELETED"
}

// GPUTypes returns the GPU types of zones, sorted by name.
func (f Facts) GPUTypes(ctx context.Context, zones []string) ([]GPUType, error) {
	offers, err := askEach(zones, func(zone string) ([]*compute.AcceleratorType, error) {
		return f.listGPUTypes(ctx, zone)
	})
	if err != nil {
		return nil, fmt.Errorf("list GPU types: %w", err)
	}
	found := make(map[string]GPUType)
	for i, zone := range zones {
		for _, a := range offers[i] {
			if !strings.HasPrefix(a.Name, "nvidia-") || strings.HasSuffix(a.Name, "-vws") || !isOffered(a.Deprecated) {
				continue // not a GPU, or a virtual workstation
			}
			g := found[a.Name]
			found[a.Name] = GPUType{a.Name, max(g.Most, int(a.MaximumCardsPerInstance)), append(g.Zones, zone)}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b GPUType) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// withdrawnGPUs returns the GPU types that no zone offers any more.
func withdrawnGPUs() []string { return []string{"nvidia-tesla-k80"} }

// Withdrawn reports whether Google has removed a GPU type from all zones.
func Withdrawn(gpu string) bool { return slices.Contains(withdrawnGPUs(), gpu) }

// BeforeTuring reports whether NVIDIA's open kernel modules do not support a GPU type: Kepler,
// Maxwell, Pascal and Volta.
func BeforeTuring(gpu string) bool {
	return slices.Contains([]string{"nvidia-tesla-k80", "nvidia-tesla-p4", "nvidia-tesla-p100", "nvidia-tesla-v100"}, gpu)
}

// gpuLimit maps the number of GPUs of a type on an N1 machine to the maximum number of vCPUs.
// https://cloud.google.com/compute/docs/gpus#n1-gpus
type gpuLimit map[int64]int

func gpuLimits() map[string]gpuLimit {
	return map[string]gpuLimit{
		"nvidia-tesla-t4":   {1: 48, 2: 48, 4: 96},
		"nvidia-tesla-p4":   {1: 24, 2: 48, 4: 96},
		"nvidia-tesla-v100": {1: 12, 2: 24, 4: 48, 8: 96},
		"nvidia-tesla-p100": {1: 16, 2: 32, 4: 96},
	}
}

// CheckGPUs returns an error if a machine with that number of vCPUs does not support the number of
// GPUs. It returns nil for unknown GPU types.
func CheckGPUs(t machinetype.Type, vcpu int) error {
	limits, known := gpuLimits()[t.GPUType]
	if !takesGPUs(t) || !known {
		return nil
	}
	most, ok := limits[t.GPUs]
	switch {
	case !ok:
		return fmt.Errorf("%s has %d GPUs, but machines support %s of %s", t, t.GPUs, joinNumbers(slices.Sorted(maps.Keys(limits))), t.GPUType)
	case vcpu > most:
		return fmt.Errorf("%s has %d vCPUs, but a machine with %d x %s has at most %d", t, vcpu, t.GPUs, t.GPUType, most)
	}
	return nil
}

// joinNumbers formats "1, 2 or 4".
func joinNumbers(numbers []int64) string {
	var out []string
	for _, n := range numbers {
		out = append(out, fmt.Sprint(n))
	}
	last := len(out) - 1
	return strings.Join(out[:last], ", ") + " or " + out[last]
}
