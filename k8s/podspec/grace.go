package podspec

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// grace is how long a pod has between being asked to end and being ended, as in
// Determined 0.38.1.
const grace = 15

// defaultGraceLimit is the limit of templates that have none: room for a large checkpoint, and
// short enough that a drained node does not wait for long.
const defaultGraceLimit = 10 * time.Minute

// GraceLimit returns the longest time between SIGTERM and SIGKILL that a pod of a request gets:
// the limit of its pool, or more if the cluster's own pod spec has more. A pod spec that cannot
// be read has no more; Validate and Build return its mistakes.
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

// maxDuration is the most seconds that a time.Duration holds.
const maxDuration = (1<<63 - 1) / time.Second

// gracePeriod is a field of a pod spec that says how long a program may take to end.
type gracePeriod struct {
	field   string
	seconds *int64
}

// gracesOf lists the fields that are set. A probe that fails ends a container too, and the
// kubelet that waits for that end does not heed a shorter time afterwards.
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

// checkGrace refuses a task's pod spec that lets the task take longer to end than its
// pool allows. Administrators are not exempt: their tasks too hold up drained nodes.
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

// limitGrace shortens what is longer than the limit in a task that was submitted under another
// one, so that it still runs.
func limitGrace(s *corev1.PodSpec, most time.Duration) {
	for _, g := range gracesOf(s) {
		*g.seconds = min(*g.seconds, int64(most/time.Second))
	}
}
