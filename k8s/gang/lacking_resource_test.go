package gang

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestShortageReportedByScheduler(t *testing.T) {
	t.Parallel()
	gpu := []corev1.ResourceName{"nvidia.com/gpu"}
	for text, want := range map[string][]corev1.ResourceName{
		// Kubernetes 1.36.
		"0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.": {"nvidia.com/gpu"},
		"0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.":                                                                                    {"cpu", "nvidia.com/gpu"},
		"0/1 nodes are available: 1 Insufficient memory.":                                                                                     {"memory"},
		"0/1 nodes are available: 1 Too many pods.":                                                                                           {"pods"},
		"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.":                                                       nil,
		"0/2 nodes are available: 1 Insufficient ephemeral-storage, 1 node(s) were unschedulable":                                             {"ephemeral-storage"},
		"0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.":  gpu,
		"0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s).":                                         gpu,
		"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector. preemption: none helps": gpu,
		"": nil,

		// The message does not name the node with the other problem, which may be the idle one.
		"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had volume node affinity conflict.":                  nil,
		"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match pod anti-affinity rules.":               nil,
		"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match pod topology spread constraints.":       nil,
		"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't have free ports for the requested pod ports.": nil,
		"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/2 nodes are available":        nil,
	} {
		if got := Lacking(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	one, other := "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", "0/1 nodes are available: 1 node(s) had volume node affinity conflict."
	if got := Lacking(one, "", one); !slices.Equal(got, gpu) {
		t.Errorf("two pods of one word: got %v, want %v", got, gpu)
	}
	if got := Lacking(one, other); got != nil {
		t.Errorf("one of two pods has another fault: got %v, want none", got)
	}
}
