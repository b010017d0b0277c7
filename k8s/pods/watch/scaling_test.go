package watch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func TestNewestEventOfAutoscaler(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	w := &Watch{scalings: caches{informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Events().Informer()}}
	if err := w.scalings[0].AddIndexers(cache.Indexers{byObject: objectOf}); err != nil {
		t.Fatal(err)
	}
	for i, e := range []struct {
		pod    types.UID
		reason string
	}{
		{"u1", "TriggeredScaleUp"}, {"u2", "NotTriggerScaleUp"}, {"u2", "Preempting"}, {"placed", "Nominated"},
	} {
		o := &corev1.Event{Reason: e.reason, Message: "it says", LastTimestamp: metav1.NewTime(now.Add(time.Duration(i) * time.Second))}
		o.Name, o.Namespace, o.InvolvedObject.UID = e.reason, "tasks", e.pod
		if err := w.scalings[0].GetIndexer().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	pod := func(id types.UID, node string) *corev1.Pod {
		p := &corev1.Pod{}
		p.UID, p.Spec.NodeName = id, node
		return p
	}
	for _, tt := range []struct {
		name string
		pods map[int]*corev1.Pod
		want string
	}{
		{"nodes are added", map[int]*corev1.Pod{0: pod("u1", ""), 1: pod("placed", "n1")}, "TriggeredScaleUp: it says"},
		{"the newest of two pods", map[int]*corev1.Pod{0: pod("u1", ""), 1: pod("placed", "")}, "Nominated: it says"},
		{"beside another event", map[int]*corev1.Pod{0: pod("u2", "")}, "NotTriggerScaleUp: it says"},
		{"none", map[int]*corev1.Pod{0: pod("u3", "")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if e := w.ScalingEvent(tt.pods); e != nil {
				got = Describe(e)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
