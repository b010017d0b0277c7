package watch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/podspec"
)

func TestReasonOfPodThatDoesNotStart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	warned := func(ago time.Duration, reason, text string) *corev1.Event {
		e := &corev1.Event{Reason: reason, Message: text, LastTimestamp: metav1.NewTime(now.Add(-ago))}
		e.Name, e.Namespace, e.InvolvedObject.UID = reason, "tasks", "u1"
		return e
	}
	mount := warned(time.Minute, "FailedMount", `secret "data" not found`)
	another := warned(time.Second, "FailedMount", "another pod's")
	another.Name, another.InvolvedObject.UID = "another", "u2"
	for name, c := range map[string]struct {
		node   string
		status corev1.PodStatus
		events []*corev1.Event
		want   string
	}{
		"nothing":                 {node: "n1"},
		"a volume is not there":   {node: "n1", events: []*corev1.Event{mount, another}, want: `FailedMount: secret "data" not found`},
		"the newest counts":       {node: "n1", events: []*corev1.Event{mount, warned(0, "FailedCreatePodSandBox", "no address")}, want: "FailedCreatePodSandBox: no address"},
		"it was said long ago":    {node: "n1", events: []*corev1.Event{warned(warningHolds+1, "FailedMount", "late")}},
		"the pod has no node yet": {events: []*corev1.Event{mount}},
		"the volume is there by now": {node: "n1", events: []*corev1.Event{mount}, status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}},
		}},
		"an image is pulled already": {node: "n1", events: []*corev1.Event{mount}, status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: podspec.InitContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		}},
		"its status says more": {node: "n1", events: []*corev1.Event{mount}, want: "ImagePullBackOff: denied", status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: podspec.InitContainer, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "denied"},
			}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &Watch{warnings: caches{informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Events().Informer()}}
			if err := w.warnings[0].AddIndexers(cache.Indexers{byObject: objectOf}); err != nil {
				t.Fatal(err)
			}
			for _, e := range c.events {
				if err := w.warnings[0].GetIndexer().Add(e); err != nil {
					t.Fatal(err)
				}
			}
			pod := &corev1.Pod{Status: c.status}
			pod.UID, pod.Spec.NodeName = "u1", c.node
			s := observe.Pod(pod)
			s.AddWarning(w.Warning(pod, now))
			if s.Stuck != c.want {
				t.Errorf("got %q, want %q", s.Stuck, c.want)
			}
		})
	}
}
