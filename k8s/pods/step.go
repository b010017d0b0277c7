package pods

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// retryAfter is how long an API server, a store, or an owner of tasks that did not
// take something is left alone. glance is how soon something is looked at again
// whose news may be on its way.
const (
	retryAfter = 500 * time.Millisecond
	glance     = time.Second
)

// step does what an allocation's phase asks for. It returns when to look again
// without news, 0 for never. One worker at a time does it for one allocation; it may
// be interrupted anywhere and is repeated at will.
func (r *RM) step(ctx context.Context, id rm.AllocationID) time.Duration {
	r.mu.Lock()
	a, w := r.allocations[id], r.watch
	if a == nil || w == nil {
		r.mu.Unlock()
		return 0
	}
	phase := a.phase
	r.mu.Unlock()
	switch phase {
	case Queued:
		return r.wait(ctx, a)
	case Making:
		return r.make(ctx, a)
	case Gated, Opening:
		return r.gather(ctx, w, a)
	case Running:
		return r.tend(ctx, w, a)
	case Undoing:
		return r.remove(ctx, w, a)
	case Over:
		return r.clean(ctx, w, a)
	}
	return 0
}

// again says in the log that something is tried again, and when.
func (r *RM) again(ctx context.Context, what string, a *allocation, err error) time.Duration {
	if ctx.Err() == nil {
		r.cfg.Log.Warn("try again", "what", what, "allocation", a.Allocation, "err", err)
	}
	return retryAfter
}

// move transitions an allocation from one phase, unless somebody was quicker; then
// a worker looks again.
func (r *RM) move(a *allocation, from, to Phase) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.look(a.Allocation)
	defer r.stir()
	if a.phase != from {
		return false
	}
	if err := a.transition(to, time.Now()); err != nil {
		r.cfg.Log.Error("move allocation", "allocation", a.Allocation, "err", err)
		return false
	}
	return true
}

// wait tells the owner why the allocation waits, and ends one that has to go.
func (r *RM) wait(ctx context.Context, a *allocation) time.Duration {
	if r.isReleased(a) {
		return r.finish(ctx, a)
	}
	return r.explain(ctx, a)
}

func (r *RM) isReleased(a *allocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.release != nil
}

// patience is how long an allocation waits for a reason before it is worth a line
// in its log: most wait for the blink of an eye. A try that is undone is always worth one.
const patience = time.Second

// explain tells the owner of a matter that keeps an allocation waiting, once.
func (r *RM) explain(ctx context.Context, a *allocation) time.Duration {
	r.mu.Lock()
	kind, reason, next, told, since := a.kind, a.waiting, a.until, a.told, a.kindSince
	r.mu.Unlock()
	if kind == "" || kind == told {
		return 0
	}
	now := time.Now()
	if left := patience - now.Sub(since); left > 0 && kind != waitsUndone {
		return left
	}
	if err := r.cfg.Tasks.Waits(ctx, a.Allocation, rm.Wait{Kind: kind, Reason: reason, At: now, Next: next}); err != nil {
		return r.again(ctx, "say why it waits", a, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a.told = kind
	return 0
}

// hold notes what keeps an allocation waiting. RM.mu is held.
func (r *RM) hold(a *allocation, kind, reason string) {
	a.waiting = reason
	if a.kind == kind {
		return
	}
	a.kind, a.kindSince = kind, time.Now()
	r.look(a.Allocation)
}

// The kinds of matters beside those of k8s/gang: an attempt was undone, and nodes
// have not taken the pods that the scheduler gave them.
const (
	waitsUndone = "undone"
	waitsNodes  = "nodes"
)

// gather waits until a gang's pods are all there, lets the scheduler see them, and
// waits until nodes have taken them all.
func (r *RM) gather(ctx context.Context, w *watch, a *allocation) time.Duration {
	if r.isReleased(a) {
		r.giveUp(a, "it was ended before it ran")
		return 0
	}
	name := r.nameOf(a)
	job, pods := w.job(r.cfg.Namespace, name), w.podsOf(a.Allocation, name)
	g := r.muster(w, a, job, pods)
	if g.undo != "" {
		r.giveUp(a, g.undo)
		return 0
	}
	if len(g.gated) > 0 && g.opening {
		if err := r.open(ctx, a, g.gated); err != nil {
			return r.again(ctx, "let the scheduler see pods", a, err)
		}
		return glance
	}
	if g.whole {
		return r.begun(ctx, a, pods)
	}
	if again := r.explain(ctx, a); again > 0 {
		return again
	}
	return glance
}

// gathering is how far a gang's pods have come.
type gathering struct {
	gated   []*corev1.Pod
	opening bool
	whole   bool
	undo    string
}

// muster looks at a gang's pods, and notes what Kubernetes says of them.
func (r *RM) muster(w *watch, a *allocation, job *batchv1.Job, pods map[int]*corev1.Pod) gathering {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, all := time.Now(), len(a.containers)
	g := gathering{opening: a.phase == Opening}
	have, placed, ended, trouble := 0, 0, 0, ""
	for rank := range all {
		pod := pods[rank]
		if pod == nil {
			if succeeded(job, rank) {
				ended++
			}
			continue
		}
		g.undo = message(g.undo, r.spoilt(w, pod))
		trouble = message(trouble, unschedulable(pod))
		if taken(pod) {
			have++
		}
		if pod.Spec.NodeName != "" {
			placed++
		}
		if podspec.Gated(pod) {
			g.gated = append(g.gated, pod)
		}
	}
	have += ended
	g.whole = have == all
	g.undo = message(g.undo, neverWhole(job, pods))
	switch {
	case g.undo != "":
	case a.phase == Gated && len(pods)+ended == all && len(g.gated) < all:
		r.transition(a, Opening, now) // an earlier master has begun to open it
	case g.whole:
	case job == nil && now.Sub(a.since) > 5*glance, job != nil && job.DeletionTimestamp != nil:
		g.undo = "its Job was deleted by another client"
	case job != nil && len(pods) < all:
		trouble = message(w.refusal(job), trouble)
	case g.opening && placed == all:
		r.hold(a, waitsNodes, fmt.Sprintf("all its pods (%d) have a node; the nodes have taken %d of them", all, have))
	}
	if a.trouble != trouble {
		a.trouble = trouble
		r.stir()
	}
	return g
}

// spoilt says why a pod can never be part of a whole gang.
func (r *RM) spoilt(w *watch, pod *corev1.Pod) string {
	node := w.node(pod.Spec.NodeName)
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s was deleted before all of them ran", pod.Name)
	case sentBack(pod) != "":
		return sentBack(pod)
	case r.switches[rm.AgentID(pod.Spec.NodeName)] != "":
		return fmt.Sprintf("agent %s, where pod %s was placed, is switched off", pod.Spec.NodeName, pod.Name)
	case node != nil && !ready(node) && !taken(pod):
		return fmt.Sprintf("agent %s has been given pod %s and is not ready", pod.Spec.NodeName, pod.Name)
	}
	return ""
}

// unschedulable is the scheduler's reason for not placing a pod.
func unschedulable(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return message(c.Message, c.Reason)
		}
	}
	return ""
}

// undo has an allocation's objects removed; it is tried again when until has come.
// RM.mu is held.
func (r *RM) undo(a *allocation, why string, until time.Time) {
	now := time.Now()
	if err := a.transition(Undoing, now); err != nil {
		return // it is undone already, or runs
	}
	a.trouble, a.until = "", until
	if !until.IsZero() && a.release == nil {
		r.meters.undone.Inc()
		a.tries++
		r.cfg.Log.Info("take pods back", "allocation", a.Allocation, "why", why, "tries", a.tries, "until", until)
	}
	if a.release == nil {
		r.hold(a, waitsUndone, why)
	}
	r.look(a.Allocation)
	r.stir()
}

// open takes the gates away from pods, side by side.
func (r *RM) open(ctx context.Context, a *allocation, pods []*corev1.Pod) error {
	r.mu.Lock()
	hints := a.hints
	r.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, pod := range pods {
		g.Go(func() error { return r.openPod(ctx, a, pod, hints) })
	}
	return g.Wait()
}

// openPod takes one pod's gate away, and tells the scheduler where there is room.
func (r *RM) openPod(ctx context.Context, a *allocation, pod *corev1.Pod, hints []gang.NodeID) error {
	node := gang.NodeID("")
	if rank, ok := podspec.RankOf(pod); ok && rank < len(hints) {
		node = hints[rank]
	}
	patch, err := podspec.OpenPatch(pod, a.Allocation, node)
	if err != nil {
		return err
	}
	_, err = r.cfg.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("open pod %s: %w", pod.Name, err)
	}
	return nil
}

// nameOf is the name of the Job of the allocation's current attempt.
func (r *RM) nameOf(a *allocation) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobName(a)
}
