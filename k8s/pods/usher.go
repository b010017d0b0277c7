package pods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/master/rm"
)

// usher ends a pod whose allocation has to go, or that will never start.
func (r *RM) usher(ctx context.Context, a *allocation, c *container, pod *corev1.Pod, s sighting) time.Duration {
	r.mu.Lock()
	why := a.release
	r.mu.Unlock()
	now := time.Now()
	switch {
	case overdue(pod, r.cfg.Limits.Lost, now):
		r.mu.Lock()
		r.kill(a, rm.CauseAgentLost, fmt.Sprintf("pod %s was to end, and its node %s does not answer", pod.Name, pod.Spec.NodeName))
		r.mu.Unlock()
		r.force(ctx, a, pod, now)
		return glance
	case c.verdict != nil:
		r.endPod(ctx, c, pod, now)
	case why != nil && (why.Kill || a.terminate):
		r.endPod(ctx, c, pod, now.Add(graceOf(pod)))
	}
	if pod.DeletionTimestamp != nil {
		return max(time.Until(pod.DeletionTimestamp.Add(r.cfg.Limits.Lost)), glance)
	}
	if s.stuck != "" {
		due := c.stuck.Add(r.limitOf(s))
		if c.trouble == "" {
			due = c.stuck.Add(s.worth())
		}
		return max(time.Until(due), glance)
	}
	return 0
}

// graceOf is how long a program has after SIGTERM when it is killed, or preempted and
// does not listen for the signal: what its pod spec says, in which the API server leaves
// nothing out. Nobody gets more, because a kubelet that waits for a program to end does
// not heed that it is to wait less.
func graceOf(pod *corev1.Pod) time.Duration {
	seconds := int64(0)
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	return time.Duration(seconds) * time.Second
}

// endPod asks for a pod's end by a time: SIGTERM now, SIGKILL then. One that was
// asked before may only be given less time.
func (r *RM) endPod(ctx context.Context, c *container, pod *corev1.Pod, by time.Time) {
	if !c.ending.IsZero() && !by.Before(c.ending) {
		return
	}
	if r.deletePod(ctx, pod, max(time.Until(by), 0)) {
		c.ending = by
	}
}

// force has the API server forget a pod whose node does not answer. A gang is looked
// at whenever one of its pods goes: the others are not forced anew each time.
func (r *RM) force(ctx context.Context, a *allocation, pod *corev1.Pod, now time.Time) {
	if now.Sub(a.forced[pod.UID]) < r.cfg.Limits.Lost || !r.deletePod(ctx, pod, 0) {
		return
	}
	if a.forced == nil {
		a.forced = make(map[types.UID]time.Time)
	}
	a.forced[pod.UID] = now
}

// freeForced deletes the Job of pods that were forced: it keeps a finalizer on each
// until a node says how it ended, which theirs does not.
func (r *RM) freeForced(ctx context.Context, w *watch, a *allocation) time.Duration {
	if len(a.forced) == 0 || a.jobless {
		return 0
	}
	if _, err := r.deleteJobs(ctx, w, a, metav1.DeletePropagationBackground); err != nil {
		return r.again(ctx, "remove pods of nodes that do not answer", a, err)
	}
	a.jobless = true
	return 0
}

// deletePod reports whether the API server has taken the deletion.
func (r *RM) deletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) bool {
	seconds := int64(grace.Round(time.Second) / time.Second)
	err := r.cfg.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &seconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	if ctx.Err() == nil {
		r.cfg.Log.Warn("try again", "what", "delete pod", "pod", pod.Name, "err", err)
	}
	r.work.AddAfter(rm.AllocationID(pod.Labels[AllocationLabel]), retryAfter)
	return false
}
