package watch

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
)

// scalingEvents selects the events of cluster autoscalers about pods: ordinary events, without those of the
// scheduler and of kubelets, which each pod has.
const scalingEvents = "involvedObject.kind=Pod,type=Normal,reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,reason!=Killing"

// scalingReasons returns the reasons of these events: of the Kubernetes cluster autoscaler and of Karpenter.
func scalingReasons() []string { return []string{"TriggeredScaleUp", "NotTriggerScaleUp", "Nominated"} }

// ScalingEvent returns the newest event of a cluster autoscaler about one of the pods that have no node, or nil.
func (w *Watch) ScalingEvent(pods map[int]*corev1.Pod) *corev1.Event {
	var last *corev1.Event
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			continue
		}
		for _, o := range w.scalings.byIndex(byObject, string(pod.UID)) {
			e, ok := o.(*corev1.Event)
			if ok && slices.Contains(scalingReasons(), e.Reason) && (last == nil || eventTime(last).Before(eventTime(e))) {
				last = e
			}
		}
	}
	return last
}

// Describe formats an event.
func Describe(e *corev1.Event) string {
	return e.Reason + ": " + observe.FirstText(e.Message, "no more is said")
}
