package facts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// GPUMachines returns the machines with GPUs that the zones offer, smallest first: machine types
// that include GPUs, and N1 types with each number of GPUs that they accept.
func (f Facts) GPUMachines(ctx context.Context, zones []string) ([]Type, error) {
	found, err := f.typesWithGPUs(ctx, zones)
	if err != nil {
		return nil, err
	}
	gpus, err := f.GPUTypes(ctx, zones)
	if err != nil {
		return nil, err
	}
	given, err := f.Types(ctx, zones, n1TypesWithGPUs(gpus)...)
	if err != nil {
		return nil, err
	}
	maps.Copy(found, given)
	out := slices.Collect(maps.Values(found))
	out = slices.DeleteFunc(out, func(t Type) bool { return len(t.Zones) == 0 })
	slices.SortFunc(out, func(a, b Type) int {
		return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.VCPU, b.VCPU), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// typesWithGPUs returns the machine types of the zones that include GPUs.
func (f Facts) typesWithGPUs(ctx context.Context, zones []string) (map[string]Type, error) {
	filter := `name eq "(` + strings.Join(machinetype.Families(), "|") + `)-.*"`
	offers, err := askEach(zones, func(zone string) ([]*compute.MachineType, error) {
		return f.listMachineTypes(ctx, zone, filter)
	})
	if err != nil {
		return nil, fmt.Errorf("list machine types with GPUs: %w", err)
	}
	out := make(map[string]Type)
	for i, zone := range zones {
		for _, m := range offers[i] {
			if len(m.Accelerators) == 0 || !isOffered(m.Deprecated) {
				continue
			}
			t, found := out[m.Name]
			if !found {
				t = describeType(machinetype.Type{MachineType: m.Name}, m)
			}
			t.Zones = append(t.Zones, zone)
			out[m.Name] = t
		}
	}
	return out, nil
}

// cpusPerGPU is the number of vCPUs of an N1 machine per attached GPU. It is valid for every number
// of GPUs.
const cpusPerGPU = 8

// n1TypesWithGPUs returns N1 machines with each of the GPU types, in every number that they accept.
func n1TypesWithGPUs(gpus []GPUType) []machinetype.Type {
	var out []machinetype.Type
	for _, g := range gpus {
		for count := range gpuLimits()[g.Name] {
			out = append(out, machinetype.Type{MachineType: fmt.Sprintf("n1-standard-%d", cpusPerGPU*count), GPUType: g.Name, GPUs: count})
		}
	}
	return out
}
