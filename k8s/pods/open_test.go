package pods

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// If the API server fails to remove the gates of a gang, the next pass removes them.
func TestGatesAreRemovedAfterAnError(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "tasks", UID: "1", Labels: map[string]string{podspec.LabelIndex: "0"}},
		Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: podspec.Gate}}},
	}
	r, _ := still(t, shelf{}, pod)
	client := r.cfg.Client.(*fake.Clientset)
	fails := true
	patches := 0
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		patches++
		if fails {
			return true, nil, errors.New("the API server is unavailable")
		}
		return true, pod, nil
	})
	start := &starter{cfg: r.cfg, state: r.state, reporter: &reporter{cfg: r.cfg, state: r.state}}
	start.objects.Client, start.objects.Namespace = client, "tasks"
	a := &allocation{Entry: &queue.Entry{Request: rm.Request{Allocation: "gang"}}}

	if got := start.openPods(t.Context(), a, []*corev1.Pod{pod}); got != retryAfter {
		t.Errorf("after an error: got a pause of %v, want %v", got, retryAfter)
	}
	fails = false
	for range 2 {
		start.openPods(t.Context(), a, []*corev1.Pod{pod})
	}
	if patches != 2 {
		t.Errorf("got %d patches, want the failed one and one that succeeds", patches)
	}
}
