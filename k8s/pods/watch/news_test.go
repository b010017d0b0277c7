package watch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Most status updates of pods and nodes do not trigger a pass.
func TestChangesThatTriggerDecision(t *testing.T) {
	t.Parallel()
	pod := func(version string, edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{}
		p.ResourceVersion = version
		if edit != nil {
			edit(p)
		}
		return p
	}
	condition := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(time.Unix(9, 0))}}
		}
	}
	for name, row := range map[string]struct {
		after *corev1.Pod
		want  bool
	}{
		"it has a node":                 {pod("2", func(p *corev1.Pod) { p.Spec.NodeName = "n" }), true},
		"it has ended":                  {pod("2", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		"the scheduler found no node":   {pod("2", condition(corev1.ConditionFalse, corev1.PodReasonUnschedulable)), true},
		"when it got its node":          {pod("2", condition(corev1.ConditionTrue, "")), true},
		"another of the same name":      {pod("2", func(p *corev1.Pod) { p.UID = "other" }), true},
		"it is shown again":             {pod("1", nil), true},
		"it has an address, and runs":   {pod("2", func(p *corev1.Pod) { p.Status.PodIP, p.Status.Phase = "10.0.0.1", corev1.PodRunning }), false},
		"a condition of its containers": {pod("2", func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }), false},
	} {
		if got := podDecides(pod("1", nil), row.after); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
	node := func(version string, edit func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{}
		n.ResourceVersion = version
		if edit != nil {
			edit(n)
		}
		return n
	}
	for name, row := range map[string]struct {
		after *corev1.Node
		want  bool
	}{
		"it is cordoned":   {node("2", func(n *corev1.Node) { n.Spec.Unschedulable = true }), true},
		"it has a label":   {node("2", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }), true},
		"it has a taint":   {node("2", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }), true},
		"it has resources": {node("2", func(n *corev1.Node) { n.Status.Allocatable = corev1.ResourceList{"pods": {}} }), true},
		"it is ready": {node("2", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}), true},
		"it has an image": {node("2", func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{}} }), false},
	} {
		if got := nodeDecides(node("1", nil), row.after); got != row.want {
			t.Errorf("node: %s: got %v, want %v", name, got, row.want)
		}
	}
}
