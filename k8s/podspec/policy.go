package podspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
)

// checkPolicy returns an error for each privilege in a request's pod spec that its policy does not
// permit. The resource pool's own pod spec counts as the cluster's, and is only checked against the
// rules for all tasks.
func checkPolicy(p policy.Policy, r rm.Request, t Template) error {
	merged, err := userPod(r, t)
	if err != nil {
		return err
	}
	_, field := t.poolSpec(r)
	if t.givesPodSpec(r) {
		field = gcField
	} else {
		r.PodSpec = nil
	}
	pool, err := userPod(r, t)
	if err != nil {
		return err
	}
	given := requestedResources(pool)
	return errors.Join(
		joinViolations(field, policy.Judge(policy.Policy{Free: true}, given)),
		joinViolations(taskField, policy.Judge(p, withoutOwn(requestedResources(merged), given))),
	)
}

// givesPodSpec reports whether a task's pod spec is the cluster's rather than its owner's: that of
// a task that deletes checkpoints. Users cannot submit such a task.
func (t Template) givesPodSpec(r rm.Request) bool {
	return r.JobType == apiv1.Job_TYPE_CHECKPOINT_GC && len(t.CheckpointGCPodSpec) > 0 && sameJSON(r.PodSpec, t.CheckpointGCPodSpec)
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// judgeSpec returns an error for each other part of a task that its policy does not permit.
func judgeSpec(p policy.Policy, s *agentv1.Spec) error {
	var all []error
	for _, v := range policy.Judge(p, policy.OfSpec(s)) {
		why := v.Text
		if v.Allow != "" {
			why += "; to allow it, an administrator sets " + v.Allow
		}
		all = append(all, refuseField(v.Field, "%s", why))
	}
	return errors.Join(all...)
}

func joinViolations(field string, list []policy.Violation) error {
	var all []error
	for _, v := range list {
		all = append(all, refuseField(field, "%s", v))
	}
	return errors.Join(all...)
}

// limitMemory sets the maximum permitted memory as the limit of containers without one. Their
// request stays 0.
func limitMemory(s *corev1.PodSpec, most int64) {
	if most == 0 {
		return
	}
	for _, c := range containersOf(s) {
		r := &c.Resources
		if _, set := r.Limits[corev1.ResourceMemory]; set {
			continue
		}
		if r.Limits == nil {
			r.Limits = corev1.ResourceList{}
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Limits[corev1.ResourceMemory] = *resource.NewQuantity(most, resource.BinarySI)
		if _, set := r.Requests[corev1.ResourceMemory]; !set {
			r.Requests[corev1.ResourceMemory] = *resource.NewQuantity(0, resource.BinarySI)
		}
	}
}

// Settings with the pod specs of a resource pool.
const (
	cpuField = "task_container_defaults.cpu_pod_spec"
	gpuField = "task_container_defaults.gpu_pod_spec"
	gcField  = "task_container_defaults.checkpoint_gc_pod_spec"
)

// Check returns all errors in the pod specs of a resource pool, with their settings: no task of the
// pool could run. A master with such an error does not start.
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
		_, err := Draft(spec.tried, t)
		for _, r := range refusals(errors.Join(CheckPod(spec.field, spec.json, t), err)) {
			if r.Field != spec.field && r.Field == cpuField {
				continue // already listed
			}
			r.Field = spec.field
			if !slices.ContainsFunc(out, func(o *Refusal) bool { return *o == *r }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// refusals returns the *Refusals joined in an error. Any other error becomes a Refusal without a
// path.
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

// Rule returns the message without the path At.
func (r *Refusal) Rule() string {
	if rest, found := strings.CutPrefix(r.Why, r.At); found && r.At != "" {
		return strings.TrimLeft(rest, ": ")
	}
	return strings.TrimSuffix(r.Why, " "+`"`+r.At+`"`)
}
