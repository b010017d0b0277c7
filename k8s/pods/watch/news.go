package watch

import (
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
)

// news handles the events of informers: it determines the allocation, and whether the change can
// affect a decision. Most changes of a pod's status cannot.
type news struct{ w *Watch }

var _ cache.ResourceEventHandler = news{}

// OnAdd implements cache.ResourceEventHandler.
func (n news) OnAdd(o any, _ bool) { n.report(nil, o) }

// OnUpdate implements cache.ResourceEventHandler.
func (n news) OnUpdate(before, o any) { n.report(before, o) }

// OnDelete implements cache.ResourceEventHandler.
func (n news) OnDelete(o any) {
	if deleted, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = deleted.Obj
	}
	if pod, ok := o.(*corev1.Pod); ok {
		n.w.noteChange(func(c Changes) { c.PodGone(pod) })
		n.w.cfg.OnChange(allocationID(pod), true)
		return
	}
	n.report(nil, o)
}

// report determines the allocation of a changed object.
func (n news) report(before, o any) {
	switch o := o.(type) {
	case *corev1.Pod:
		old, _ := before.(*corev1.Pod)
		if old != nil && old.UID != o.UID { // the deletion was missed while the watch was interrupted
			n.OnDelete(old)
		}
		decides := old == nil || podDecides(old, o)
		if decides {
			n.w.noteChange(func(c Changes) { c.PodChanged(o) })
		}
		n.w.cfg.OnChange(allocationID(o), decides)
	case *batchv1.Job:
		n.w.cfg.OnChange(allocationID(o), false)
	case *corev1.Event:
		n.w.cfg.OnChange(n.w.subjectOf(o), false)
	case *corev1.Node:
		old, _ := before.(*corev1.Node)
		if old == nil || nodeDecides(old, o) {
			n.w.noteChange(Changes.NodesChanged)
			n.w.cfg.OnChange("", true)
		}
	default:
		n.w.cfg.OnChange("", true)
	}
}

func (w *Watch) noteChange(note func(Changes)) {
	if w.cfg.Changes != nil {
		note(w.cfg.Changes)
	}
}

// podDecides reports whether a change of a pod can affect a decision. It returns true for a resync.
func podDecides(before, pod *corev1.Pod) bool {
	return isRepeated(before, pod) || before.Spec.NodeName != pod.Spec.NodeName || observe.Finished(before) != observe.Finished(pod) ||
		before.UID != pod.UID || observe.Unschedulable(before) != observe.Unschedulable(pod) || !observe.BoundAt(before).Equal(observe.BoundAt(pod)) ||
		observe.Unseen(before) != observe.Unseen(pod)
}

// nodeDecides does the same for a node, whose kubelet updates its status every few minutes.
func nodeDecides(before, n *corev1.Node) bool {
	return isRepeated(before, n) || observe.NodeReady(before) != observe.NodeReady(n) || before.Spec.Unschedulable != n.Spec.Unschedulable ||
		!reflect.DeepEqual(before.Labels, n.Labels) || !reflect.DeepEqual(before.Spec.Taints, n.Spec.Taints) ||
		!reflect.DeepEqual(before.Status.Allocatable, n.Status.Allocatable)
}

func isRepeated(before, o metav1.Object) bool {
	return before.GetResourceVersion() == o.GetResourceVersion()
}
