package pods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// waitsStart is the kind of the matter that a node cannot start a pod.
const waitsStart = "start"

const (
	// warningHolds is how long a node's warning counts. A kubelet repeats one that
	// lasts about every two minutes, or five when it has many.
	warningHolds = 6 * time.Minute
	// slowWorth is how long such a matter must last to be worth a line: Secrets and
	// volumes are often a moment late.
	slowWorth = 10 * time.Second
)

// warning is what a pod's node says of what keeps it from making the first container:
// a volume that cannot be mounted, a network that is not there. Nothing of that is in
// the pod's status.
func (w *watch) warning(pod *corev1.Pod, now time.Time) string {
	if pod.Spec.NodeName == "" || prepared(pod) {
		return ""
	}
	e := lastEvent(w.warnings, pod.UID)
	if e == nil || now.Sub(eventTime(e)) > warningHolds {
		return ""
	}
	return e.Reason + ": " + message(e.Message, "no more is said")
}

// prepared reports whether a node has got as far as the containers of a pod.
func prepared(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// heed takes up a node's warning where the pod's status says nothing.
func (s *sighting) heed(warning string) {
	if warning != "" && s.stuck == "" && s.state < apiv1.Container_STATE_STARTING {
		s.stuck, s.slow = warning, true
	}
}

// worth is how long a matter must last to be told.
func (s sighting) worth() time.Duration {
	if s.slow {
		return slowWorth
	}
	return 0
}

// limitOf is how long a container may be kept from starting.
func (r *RM) limitOf(s sighting) time.Duration {
	if s.slow {
		return r.cfg.Limits.Volume
	}
	return r.cfg.Limits.Start
}

// stall notes what keeps a container from starting, and decides its end when that
// lasts.
func (r *RM) stall(c *container, s sighting, now time.Time) {
	if s.stuck == "" {
		c.stuck = time.Time{}
		return
	}
	if c.stuck.IsZero() {
		c.stuck = now
	}
	if now.Sub(c.stuck) >= s.worth() {
		c.trouble = fmt.Sprintf("pod %s on node %s does not start: %s", c.pod, c.node, s.stuck)
	}
	if c.verdict == nil && (s.hopeless || now.Sub(c.stuck) >= r.limitOf(s)) {
		c.verdict = &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: s.stuck}
	}
}

// tellTrouble tells the owner what keeps a container of a running allocation from
// starting, and takes that back when it has started.
func (r *RM) tellTrouble(ctx context.Context, a *allocation) time.Duration {
	r.mu.Lock()
	trouble := ""
	for _, c := range a.containers {
		if !c.ended() && a.release == nil {
			trouble = message(trouble, c.trouble)
		}
	}
	if trouble != "" {
		r.hold(a, waitsStart, trouble)
	} else {
		a.waiting, a.kind, a.told = "", "", ""
	}
	r.mu.Unlock()
	return r.explain(ctx, a)
}
