package podspec

import (
	"bytes"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
)

// checkPolicy says what of a request's pod spec its policy does not allow. What the pool's
// own pod spec asks for is the cluster's doing, and only checked for what no task may
// have.
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

// givesPodSpec reports whether a task's pod spec is the cluster's and not its owner's: that
// of a task that deletes checkpoints. No user submits such a task.
func (t Template) givesPodSpec(r rm.Request) bool {
	return r.JobType == apiv1.Job_TYPE_CHECKPOINT_GC && len(t.CheckpointGCPodSpec) > 0 && sameJSON(r.PodSpec, t.CheckpointGCPodSpec)
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// judgeSpec says what of the rest of a task its policy does not allow.
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

// limitMemory gives the most memory that is allowed to containers that say nothing of
// it. They ask for none, as before.
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
