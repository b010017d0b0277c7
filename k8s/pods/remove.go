package pods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// remove deletes what was made for an attempt, and queues the allocation again, or
// ends it, when nothing is left.
func (r *RM) remove(ctx context.Context, w *watch, a *allocation) time.Duration {
	if again := r.sayUndone(ctx, a); again > 0 {
		return again
	}
	left, err := r.deleteJobs(ctx, w, a, metav1.DeletePropagationForeground)
	if err != nil {
		return r.again(ctx, "take pods back", a, err)
	}
	pods := w.pods.byIndex(byAllocation, string(a.Allocation))
	if left+len(pods) > 0 {
		r.forceOverdue(ctx, a, pods)
		return glance
	}
	if a.noted {
		// It was undone just as it was whole. A restarted master would take one that
		// ran and has no Job for lost.
		if err := r.records.drop(ctx, allocationKey+string(a.Allocation)); err != nil {
			return r.again(ctx, "forget that it ran", a, err)
		}
		a.noted = false
	}
	if r.isReleased(a) {
		return r.finish(ctx, a)
	}
	a.forced = nil
	r.mu.Lock()
	for _, c := range a.containers {
		c.node, c.pod = "", ""
	}
	r.mu.Unlock()
	r.move(a, Undoing, Queued)
	return 0
}

// sayUndone tells the owner why a try is taken back, before another matter takes its place.
func (r *RM) sayUndone(ctx context.Context, a *allocation) time.Duration {
	r.mu.Lock()
	undone := a.kind == waitsUndone && a.release == nil
	r.mu.Unlock()
	if !undone {
		return 0
	}
	return r.explain(ctx, a)
}

// deleteJobs removes an allocation's Jobs, and with them all that they own. It
// returns how many there still are. That of the current attempt may be so new that
// the watch has not told of it; the API server is not asked for a list, which it
// would pick out of all Jobs there are.
func (r *RM) deleteJobs(ctx context.Context, w *watch, a *allocation, how metav1.DeletionPropagation) (left int, err error) {
	type key struct{ namespace, name string }
	all := map[key]metav1.DeleteOptions{{r.cfg.Namespace, r.nameOf(a)}: {PropagationPolicy: &how}}
	for _, job := range w.jobsOf(a.Allocation) {
		at := key{job.Namespace, job.Name}
		o := metav1.DeleteOptions{PropagationPolicy: &how, Preconditions: metav1.NewUIDPreconditions(string(job.UID))}
		if all[at] = o; job.DeletionTimestamp != nil {
			left++
			delete(all, at)
		}
	}
	for at, o := range all {
		err := r.cfg.Client.BatchV1().Jobs(at.namespace).Delete(ctx, at.name, o)
		switch {
		case err == nil:
			left++
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return left, fmt.Errorf("delete job %s: %w", at.name, err)
		}
	}
	return left, nil
}

// forceOverdue removes pods whose node does not answer.
func (r *RM) forceOverdue(ctx context.Context, a *allocation, pods []any) {
	now := time.Now()
	for _, o := range pods {
		if pod, is := o.(*corev1.Pod); is && overdue(pod, r.cfg.Limits.Lost, now) {
			r.force(ctx, a, pod, now)
		}
	}
}
