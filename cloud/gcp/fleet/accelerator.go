package fleet

import (
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// accelerators are the GPUs that a machine is given, with those of base_config where the
// pool names none.
func (f *Fleet) accelerators(t machinetype.Type, zone string) []*compute.AcceleratorConfig {
	given := f.base.GuestAccelerators
	switch {
	case t.BringsGPUs():
		return nil
	case t.GPUs > 0:
		given = []*compute.AcceleratorConfig{{AcceleratorType: t.GPUType, AcceleratorCount: t.GPUs}}
	}
	var out []*compute.AcceleratorConfig
	for _, a := range given {
		out = append(out, &compute.AcceleratorConfig{AcceleratorType: f.zonalLink(zone, "acceleratorTypes", a.AcceleratorType), AcceleratorCount: a.AcceleratorCount})
	}
	return out
}
