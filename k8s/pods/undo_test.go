package pods

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// still is a resource manager that nobody runs: a test takes its steps one by one.
func still(t *testing.T, docs shelf) (*RM, *watch) {
	t.Helper()
	client := fake.NewClientset()
	r, err := New(Config{
		Client: client, Cluster: "lab", Namespace: "tasks", Tasks: silent{}, Logs: &book{}, Memory: docs,
		Pools:      []Pool{{Name: "default", Template: podspec.Template{SlotType: podspec.CUDA, MaxSlotsPerPod: 8}}},
		DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	f := informers.NewSharedInformerFactory(client, 0)
	w := &watch{pods: caches{f.Core().V1().Pods().Informer()}, jobs: caches{f.Batch().V1().Jobs().Informer()}, refusals: caches{f.Core().V1().Events().Informer()}}
	if err := w.pods[0].AddIndexers(cache.Indexers{byAllocation: allocationOf}); err != nil {
		t.Fatal(err)
	}
	r.watch = w
	return r, w
}

// silent is an owner of tasks who takes everything.
type silent struct{ rm.Tasks }

func (silent) Waits(context.Context, rm.AllocationID, rm.Wait) error { return nil }

// What Kubernetes says may come after a task was told that it waits.
func TestALateRefusalIsTold(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	if err := r.Submit(t.Context(), rm.Request{Allocation: "a.1", Job: "a", Slots: 16, Submitted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	a := r.allocations["a.1"]
	a.phase, a.since = Gated, time.Now()
	r.decide(make(askings), time.Now())
	a.told = a.kind
	a.trouble = "exceeded quota"
	r.decide(make(askings), time.Now())
	if a.kind == a.told || !strings.Contains(a.waiting, "exceeded quota") {
		t.Errorf("got kind %q, told %q, waiting %q; want another kind, and the quota", a.kind, a.told, a.waiting)
	}
}

// A kill gives a program as long as its pod spec does.
func TestAKilledProgramHasTheTimeOfItsPodSpec(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	client := fake.NewClientset()
	r.cfg.Client = client
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.Spec.TerminationGracePeriodSeconds = "p", "tasks", new(int64(40))
	a := &allocation{release: &release{Kill: true}}
	r.usher(t.Context(), a, &container{}, pod, sighting{})
	for _, call := range client.Actions() {
		if d, is := call.(clienttesting.DeleteAction); is {
			if got := d.GetDeleteOptions().GracePeriodSeconds; got == nil || *got != 40 {
				t.Errorf("got a grace of %v, want 40", got)
			}
			return
		}
	}
	t.Errorf("got calls %v, want a deletion", client.Actions())
}

// A restarted master takes what ran and has no Job for lost; a gang that was undone in
// the moment in which it was whole is none of that.
func TestAGangUndoneAsItWasWholeIsNotTakenForOneThatRan(t *testing.T) {
	t.Parallel()
	docs := shelf{}
	r, w := still(t, docs)
	if err := r.Submit(t.Context(), rm.Request{Allocation: "a.1", Job: "a", Slots: 16, Submitted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	a := r.allocations["a.1"]
	a.phase = Opening
	r.undo(a, "not all of its pods got a node", time.Now())
	r.begun(t.Context(), a, map[int]*corev1.Pod{})
	if a.phase != Undoing || len(docs) != 1 {
		t.Fatalf("got phase %s and documents %v, want %s and one that says that it runs", a.phase, docs, Undoing)
	}
	r.remove(t.Context(), w, a)
	if a.phase != Queued || len(docs) != 0 {
		t.Errorf("got phase %s and documents %v, want %s and none", a.phase, docs, Queued)
	}
}
