package podspec

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// grace is the default termination grace period in seconds, as in Determined 0.38.1.
const grace = 15

// defaultGraceLimit is the default maximum: enough for a large checkpoint, and short enough for
// draining a node.
const defaultGraceLimit = 10 * time.Minute

// GraceLimit returns the maximum time between SIGTERM and SIGKILL for a pod of a request: the limit
// of its resource pool, or more if the cluster's own pod spec sets more. It ignores an invalid pod
// spec; Validate and Build return its errors.
func (t Template) GraceLimit(r rm.Request) time.Duration {
	most := cmp.Or(t.MaxGrace, defaultGraceLimit)
	if !t.givesPodSpec(r) {
		r.PodSpec = nil
	}
	given, err := userPod(r, t)
	if err != nil {
		return most
	}
	for _, g := range gracesOf(&given.Spec) {
		most = max(most, time.Duration(min(*g.seconds, int64(maxDuration)))*time.Second)
	}
	return most
}

// maxDuration is the maximum of a time.Duration in seconds.
const maxDuration = (1<<63 - 1) / time.Second

// gracePeriod is a field of a pod spec with a termination grace period.
type gracePeriod struct {
	field   string
	seconds *int64
}

// gracesOf returns the grace periods that are set. A failed probe ends a container too, and the
// kubelet does not apply a shorter period while it waits for that.
func gracesOf(s *corev1.PodSpec) []gracePeriod {
	var out []gracePeriod
	add := func(field string, seconds *int64) {
		if seconds != nil {
			out = append(out, gracePeriod{field + "terminationGracePeriodSeconds", seconds})
		}
	}
	add("spec.", s.TerminationGracePeriodSeconds)
	for _, c := range containersOf(s) {
		for _, p := range probesOf(c.Container) {
			add(c.field+"."+p.field+".", p.of.TerminationGracePeriodSeconds)
		}
	}
	return out
}

// checkGrace returns an error if a task's pod spec sets a longer grace period than its resource
// pool permits. This applies to administrators too, because their tasks also delay drained nodes.
func checkGrace(r rm.Request, t Template) error {
	p, err := userPod(r, t)
	if err != nil {
		return err
	}
	most := t.GraceLimit(r)
	for _, g := range gracesOf(&p.Spec) {
		if limit := int64(most / time.Second); *g.seconds > limit {
			return refuseField(taskField, "%s: %d s are more than the %d s that a task may take to end; to allow it, an administrator sets %s",
				g.field, *g.seconds, limit, fmt.Sprintf("task_policy.max_grace_period: %d", *g.seconds))
		}
	}
	return nil
}

// limitGrace shortens grace periods above the limit, so that a task that was submitted under
// another limit still runs.
func limitGrace(s *corev1.PodSpec, most time.Duration) {
	for _, g := range gracesOf(s) {
		*g.seconds = min(*g.seconds, int64(most/time.Second))
	}
}
