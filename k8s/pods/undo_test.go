package pods

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// still is a resource manager that nobody runs: a test takes its steps one by one.
func still(t *testing.T, docs shelf, there ...runtime.Object) (*RM, *watch.Watch) {
	t.Helper()
	client := fake.NewClientset(there...)
	r, err := New(Config{
		Client: client, Cluster: "lab", Namespace: "tasks", Tasks: silent{}, Logs: noLogs{}, Memory: docs,
		Pools:      []Pool{{Name: "default", Template: podspec.Template{SlotType: podspec.CUDA, MaxSlotsPerPod: 8}}},
		DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch.Open(t.Context(), watch.Config{
		Log: r.cfg.Log, Client: client, Cluster: "lab", Namespace: "tasks", OnChange: func(rm.AllocationID, bool) {}, OnError: func(error) {},
		Changes: r.state.capacity,
	})
	if err != nil {
		t.Fatal(err)
	}
	client.ClearActions()
	r.state.watch = w
	return r, w
}

// shelf is a memory of one process.
type shelf map[string][]byte

func (s shelf) Put(_ context.Context, key string, doc []byte) error { s[key] = doc; return nil }
func (s shelf) Delete(_ context.Context, key string) error          { delete(s, key); return nil }
func (s shelf) All(context.Context) (map[string][]byte, error)      { return s, nil }

// noLogs is never asked for anything.
type noLogs struct{ rm.Logs }

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
	a := r.state.allocations["a.1"]
	a.phase, a.since = Gated, time.Now()
	r.scheduler.decideQueues(time.Now())
	a.reported = a.waitKind
	a.trouble = "exceeded quota"
	r.scheduler.decideQueues(time.Now())
	if a.waitKind == a.reported || !strings.Contains(a.waiting, "exceeded quota") {
		t.Errorf("got kind %q, told %q, waiting %q; want another kind, and the quota", a.waitKind, a.reported, a.waiting)
	}
}

// A kill gives a program as long as its pod spec does, within the limit of its pool: a pod of an
// earlier version may have years. A pod that others have given years before gets less. One that is
// there after its time is forced.
func TestAKilledProgramHasTheTimeOfItsPodSpecWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		grace   int64
		deleted time.Duration // until the end that others have asked for
		want    int64
	}{
		{"within the limit", 40, 0, 40},
		{"years", 99999999, 0, 600},
		{"years, and others have deleted it", 99999999, 99999999 * time.Second, 600},
		{"past the limit", 99999999, -time.Minute, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := still(t, shelf{})
			client := fake.NewClientset()
			r.runner.terminator.objects.Client = client
			pod := &corev1.Pod{}
			pod.Name, pod.Namespace, pod.Spec.TerminationGracePeriodSeconds = "p", "tasks", new(c.grace)
			if c.deleted != 0 {
				pod.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(c.deleted)))
			}
			a := &allocation{Entry: &queue.Entry{Pool: "default"}, release: &records.Release{Kill: true}}
			r.runner.terminator.terminatePod(t.Context(), a, &container{}, pod, observe.Container{})
			for _, call := range client.Actions() {
				if d, is := call.(clienttesting.DeleteAction); is {
					if got := d.GetDeleteOptions().GracePeriodSeconds; got == nil || *got != c.want {
						t.Errorf("got a grace of %d, want %d", *got, c.want)
					}
					return
				}
			}
			t.Errorf("got calls %v, want a deletion", client.Actions())
		})
	}
}

// A drained node waits for its pods: a task whose pod was given years is killed when the limit of
// its pool has passed.
func TestATaskOnADrainedNodeHasNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	now := time.Now()
	pod := &corev1.Pod{}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(99999999))
	pod.DeletionTimestamp = new(metav1.NewTime(now.Add(99999999 * time.Second)))
	a := &allocation{Entry: &queue.Entry{Pool: "default"}, phase: Running}
	r.runner.noteDisruption(a, &container{deletedByOther: true}, pod, observe.Container{}, now)
	if a.release == nil || a.release.By.Sub(now) != 10*time.Minute {
		t.Errorf("got %+v, want until ten minutes from now", a.release)
	}
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
	a := r.state.allocations["a.1"]
	a.phase = Opening
	r.state.undoAttempt(a, "not all of its pods got a node", time.Now())
	r.worker.starter.markRunning(t.Context(), a, map[int]*corev1.Pod{})
	if a.phase != Undoing || len(docs) != 1 {
		t.Fatalf("got phase %s and documents %v, want %s and one that says that it runs", a.phase, docs, Undoing)
	}
	r.cleaner.removeAttempt(t.Context(), w, a)
	if a.phase != Queued || len(docs) != 0 {
		t.Errorf("got phase %s and documents %v, want %s and none", a.phase, docs, Queued)
	}
}

// A pod of others that the watch tells of after a gang was made without gates, and that the
// scheduler has seen before: the gang says that it waits for room, and is made with gates then.
func TestAGangWithoutGatesThatLostItsRoomWaitsForRoom(t *testing.T) {
	t.Parallel()
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	node := &corev1.Node{Status: corev1.NodeStatus{
		Allocatable: gpus, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	node.Name, node.Status.Allocatable["pods"] = "n1", resource.MustParse("110")
	others := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
	}}}}
	others.Name, others.Namespace = "x", "other"
	r, w := still(t, shelf{}, node, others)
	if err := r.Submit(t.Context(), rm.Request{Allocation: "a.1", Job: "a", Slots: 8, Submitted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	a := r.state.allocations["a.1"]
	a.phase, a.since, a.attempt, a.ungated = Opening, time.Now(), 1, true
	a.trouble = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
	r.scheduler.decideQueues(time.Now())
	if a.phase != Undoing || a.waitKind != "room" || !strings.Contains(a.waiting, "none fits now") {
		t.Fatalf("got phase %s, waiting for %s: %s; want %s, and room", a.phase, a.waitKind, a.waiting, Undoing)
	}
	// A worker that had begun to look at that try notes nothing of it any more.
	refused := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}}
	r.worker.starter.countPods(w, a, nil, map[int]*corev1.Pod{0: refused})
	r.cleaner.removeAttempt(t.Context(), w, a)
	r.scheduler.decideQueues(time.Now())
	if a.phase != Queued || a.waitKind != "room" || a.tries != 1 {
		t.Errorf("got phase %s, waiting for %s: %s, after %d tries; want %s, room and one", a.phase, a.waitKind, a.waiting, a.tries, Queued)
	}
}
