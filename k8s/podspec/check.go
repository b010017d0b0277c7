package podspec

import (
	"errors"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The settings that pod specs of a pool come from.
const (
	cpuField = "task_container_defaults.cpu_pod_spec"
	gpuField = "task_container_defaults.gpu_pod_spec"
	gcField  = "task_container_defaults.checkpoint_gc_pod_spec"
)

// Check lists every mistake in the pod specs of a pool, under the settings they come
// from: no task of the pool could run. A master that has one does not start.
func (t Template) Check() []*Refusal {
	var out []*Refusal
	for _, spec := range []struct {
		field string
		json  []byte
		tried rm.Request
	}{
		{cpuField, t.CPUPodSpec, rm.Request{}},
		{gpuField, t.GPUPodSpec, rm.Request{Slots: min(1, t.MaxSlotsPerPod)}},
		{gcField, t.CheckpointGCPodSpec, rm.Request{JobType: apiv1.Job_TYPE_CHECKPOINT_GC, PodSpec: t.CheckpointGCPodSpec, SingleNode: true}},
	} {
		if len(spec.json) == 0 {
			continue
		}
		err := CheckPod(spec.field, spec.json, t)
		if err == nil {
			_, err = Draft(spec.tried, t)
		}
		for _, r := range refusals(err) {
			if r.Field != spec.field && r.Field == cpuField {
				continue // it is listed already
			}
			r.Field = spec.field
			out = append(out, r)
		}
	}
	return out
}

// refusals are the refusals that an error joins. Another error is one without a path.
func refusals(err error) []*Refusal {
	if many, joined := err.(interface{ Unwrap() []error }); joined {
		var out []*Refusal
		for _, one := range many.Unwrap() {
			out = append(out, refusals(one)...)
		}
		return out
	}
	if one, is := errors.AsType[*Refusal](err); is {
		return []*Refusal{one}
	}
	if err != nil {
		return []*Refusal{{Why: err.Error()}}
	}
	return nil
}

// Rule is what is wrong, without the path that At has.
func (r *Refusal) Rule() string {
	if rest, found := strings.CutPrefix(r.Why, r.At); found && r.At != "" {
		return strings.TrimLeft(rest, ": ")
	}
	return strings.TrimSuffix(r.Why, " "+`"`+r.At+`"`)
}
