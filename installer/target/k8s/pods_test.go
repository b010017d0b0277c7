package k8s

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRemainingPodsAreListed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	deleted := metav1.NewTime(now.Add(-3 * time.Minute))
	going := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "master", DeletionTimestamp: &deleted, Finalizers: []string{"example.com/hold"}}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for _, tc := range []struct {
		pods        []corev1.Pod
		owner, want string
	}{
		{nil, "", ""},
		{nil, "it", "it is still there"},
		{[]corev1.Pod{going}, "it", "pod master is Terminating since 3m0s on node n1, held by example.com/hold"},
	} {
		if got := formatPodsLeft(tc.pods, tc.owner, now); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	err := &leftError{"the master's pod to go", goneLimit, "pod master is Terminating"}
	if got, want := err.Error(), "wait for the master's pod to go: after 3m0s pod master is Terminating"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
