package pods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/pods/objects"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/rm"
)

// terminator stops pods, and force deletes them if a node does not respond.
type terminator struct {
	cfg      Config
	state    *state
	objects  objects.API
	reporter *reporter
}

// terminatePod stops a pod whose allocation is to be stopped, or that will never start.
func (t *terminator) terminatePod(ctx context.Context, a *allocation, c *container, pod *corev1.Pod, s observe.Container) time.Duration {
	t.state.mu.Lock()
	why := a.release
	t.state.mu.Unlock()
	now := time.Now()
	switch {
	case observe.Overdue(pod, t.cfg.Limits.Lost, now):
		t.state.mu.Lock()
		t.state.loseNode(a, fmt.Sprintf("pod %s was to end, and its node %s does not answer", pod.Name, pod.Spec.NodeName))
		t.state.mu.Unlock()
		t.forceDelete(ctx, a, pod, now)
		return glance
	case c.decidedExit != nil:
		t.endPod(ctx, c, pod, now)
	case pod.DeletionTimestamp != nil && why != nil && !why.Kill && c.ending.IsZero():
		// Another client has deleted it with its own grace period.
	case why != nil && (why.Kill || a.terminate):
		t.endPod(ctx, c, pod, now.Add(t.cfg.gracePeriod(a, pod)))
	}
	if pod.DeletionTimestamp != nil {
		return max(time.Until(pod.DeletionTimestamp.Add(t.cfg.Limits.Lost)), glance)
	}
	if s.Stuck != "" {
		due := c.stuck.Add(t.cfg.Limits.startOf(s))
		if c.trouble == "" {
			due = c.stuck.Add(s.ReportAfter())
		}
		return max(time.Until(due), glance)
	}
	return 0
}

// endPod deletes a pod with a deadline: SIGTERM now, SIGKILL then. A repeated call can only shorten
// it.
func (t *terminator) endPod(ctx context.Context, c *container, pod *corev1.Pod, by time.Time) {
	if !c.ending.IsZero() && !by.Before(c.ending) {
		return
	}
	if t.deletePod(ctx, pod, max(time.Until(by), 0)) {
		c.ending = by
	}
}

// forceDelete makes the API server delete a pod whose node does not respond. It does so once per
// Limits.Lost and pod, because a gang is reconciled whenever one of its pods is deleted.
func (t *terminator) forceDelete(ctx context.Context, a *allocation, pod *corev1.Pod, now time.Time) {
	if now.Sub(a.forced[pod.UID]) < t.cfg.Limits.Lost || !t.deletePod(ctx, pod, 0) {
		return
	}
	if a.forced == nil {
		a.forced = make(map[types.UID]time.Time)
	}
	a.forced[pod.UID] = now
}

// deleteJobOfForced deletes the Job of force deleted pods: the Job keeps a finalizer on each pod
// until a node reports its exit, which will not happen.
func (t *terminator) deleteJobOfForced(ctx context.Context, w *watch.Watch, a *allocation) time.Duration {
	if len(a.forced) == 0 || a.jobGone {
		return 0
	}
	if _, err := t.objects.DeleteJobs(ctx, t.state.currentJobName(a), w.JobsOf(a.Allocation), metav1.DeletePropagationBackground); err != nil {
		return t.reporter.retryLater(ctx, "delete pods of unreachable nodes", a, err)
	}
	a.jobGone = true
	return 0
}

// forceDeleteOverdue force deletes pods whose node does not respond.
func (t *terminator) forceDeleteOverdue(ctx context.Context, a *allocation, pods []*corev1.Pod) {
	now := time.Now()
	for _, pod := range pods {
		if observe.Overdue(pod, t.cfg.Limits.Lost, now) {
			t.forceDelete(ctx, a, pod, now)
		}
	}
}

// deletePod reports whether the API server has accepted the deletion; otherwise the allocation is
// reconciled again soon.
func (t *terminator) deletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) bool {
	err := t.objects.DeletePod(ctx, pod, grace)
	if err == nil {
		return true
	}
	if ctx.Err() == nil {
		t.cfg.Log.Warn("cannot delete pod; retrying", "pod", pod.Name, "err", err)
	}
	t.state.work.AddAfter(rm.AllocationID(pod.Labels[AllocationLabel]), retryAfter)
	return false
}
