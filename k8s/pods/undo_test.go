package pods

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// still returns a resource manager that does not run: a test calls its steps one by one.
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

// shelf is a store in memory.
type shelf map[string][]byte

func (s shelf) Put(_ context.Context, key string, doc []byte) error { s[key] = doc; return nil }
func (s shelf) Delete(_ context.Context, key string) error          { delete(s, key); return nil }
func (s shelf) All(context.Context) (map[string][]byte, error)      { return s, nil }

// noLogs must not be called.
type noLogs struct{ rm.Logs }

// silent is an owner of tasks that accepts everything.
type silent struct{ rm.Tasks }

func (silent) Waits(context.Context, rm.AllocationID, rm.Wait) error { return nil }

// Kubernetes may reject a pod after the task's wait was reported.
func TestLateRefusalIsReported(t *testing.T) {
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

// A webhook that does not answer is named while its call is repeated, when the attempt is undone, and during the pause.
func TestDeadWebhookIsNamed(t *testing.T) {
	t.Parallel()
	r, w := still(t, shelf{})
	client := fake.NewClientset()
	client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example": connection refused`))
	})
	r.worker.starter.objects.Client = client
	if err := r.Submit(t.Context(), rm.Request{Allocation: "a.1", Job: "a", Slots: 8, Submitted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	a := r.state.allocations["a.1"]
	a.phase, a.since, a.attempt = Making, time.Now(), 1
	const want = `failed calling webhook "policy.example"`
	r.worker.starter.sendObjects(t.Context(), a, podspec.Objects{Job: &batchv1.Job{}})
	now := time.Now()
	for _, step := range []struct {
		do    func()
		phase Phase
	}{
		{func() { r.scheduler.decideQueues(now) }, Making},
		{func() { now = now.Add(31 * time.Second); r.scheduler.decideQueues(now) }, Undoing},
		{func() { r.cleaner.removeAttempt(t.Context(), w, a); r.scheduler.decideQueues(now) }, Queued},
	} {
		step.do()
		if a.phase != step.phase || !strings.Contains(a.waiting, want) {
			t.Errorf("got phase %s, waiting for %s; want %s, and the webhook", a.phase, a.waiting, step.phase)
		}
	}
}

// A killed program gets the grace period of its pod spec, within the limit of its pool: a pod of an
// earlier version may have years. A pod that another client deleted with a grace period of years
// gets less. A pod that still exists after its time is force-deleted.
func TestAKilledProgramHasTheTimeOfItsPodSpecWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		grace   int64
		deleted time.Duration // until the end of the other client's grace period
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

// A drain waits for pods: a task whose pod has a grace period of years is killed after the limit of
// its pool.
func TestGracePeriodOnDrainedNodeIsLimited(t *testing.T) {
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

// A restarted master treats a running gang without a Job as lost, but not a gang that was undone at
// the moment when all its pods were running.
func TestUndoneCompleteGangIsNotLost(t *testing.T) {
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

// The watch reports another client's pod, which the scheduler has already seen, after a gang was
// created without gates: the gang waits for room, and is then created with gates.
func TestUndoneUngatedGangWaitsForCapacity(t *testing.T) {
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
	// A worker that was processing this attempt records nothing about it.
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

// The time limit of a gang counts from the scheduler's progress with it.
func TestSchedulerProgressIsNoted(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	pod := func(node, reason string) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
		c := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}
		if node != "" {
			c.Status, c.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(began)
		}
		if node != "" || reason != "" {
			p.Status.Conditions = []corev1.PodCondition{c}
		}
		return p
	}
	a := &allocation{attempt: 1}
	for i, step := range []struct {
		pods   []*corev1.Pod
		unseen int
		want   time.Duration // since began; negative for none
	}{
		{[]*corev1.Pod{pod("", ""), pod("", "")}, 2, -1},
		{[]*corev1.Pod{pod("n1", ""), pod("", "")}, 1, time.Minute},
		{[]*corev1.Pod{pod("n1", ""), pod("", "")}, 1, time.Minute},
		{[]*corev1.Pod{pod("n1", ""), pod("", corev1.PodReasonUnschedulable)}, 0, 3 * time.Minute},
		{[]*corev1.Pod{pod("n1", ""), pod("n2", "")}, 0, 4 * time.Minute},
	} {
		a.notePods(map[int]*corev1.Pod{0: step.pods[0], 1: step.pods[1]}, began.Add(time.Duration(i)*time.Minute))
		got := a.podStats.progress
		if step.want < 0 != got.IsZero() || step.want >= 0 && got.Sub(began) != step.want || a.podStats.unseen != step.unseen {
			t.Errorf("step %d: got progress at %v with %d unseen, want %v and %d", i, got, a.podStats.unseen, step.want, step.unseen)
		}
	}
	restarted := &allocation{attempt: 1}
	restarted.notePods(map[int]*corev1.Pod{0: pod("n1", ""), 1: pod("", "")}, began.Add(time.Hour))
	if got := restarted.podStats.progress; !got.Equal(began) {
		t.Errorf("got progress at %v after a restart, want when the pod was bound", got)
	}
}

// The next run of a preempted task leaves the room to the task for which it was made.
func TestPreemptedTaskYieldsUntilOtherRuns(t *testing.T) {
	t.Parallel()
	gpus := resource.MustParse("8")
	node := &corev1.Node{Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"nvidia.com/gpu": gpus, "pods": resource.MustParse("110")},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	node.Name = "n1"
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": gpus}},
	}}}}
	pod.Name, pod.Namespace = "p", "tasks"
	pod.Labels = map[string]string{
		podspec.LabelTask: "low.1", podspec.LabelCluster: "lab", podspec.LabelIndex: "0", batchv1.JobNameLabel: podspec.JobName("low.1", 1),
	}
	r, _ := still(t, shelf{}, node, pod)
	r.scheduler.options.Preemption = true
	now := time.Now()
	submit := func(task rm.TaskID, id rm.AllocationID, priority int) *allocation {
		t.Helper()
		q := rm.Request{Allocation: id, Task: task, Job: rm.JobID(task), Slots: 8, Priority: priority, Preemptible: true, PreemptionTimeout: time.Minute, Submitted: now}
		if err := r.Submit(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		return r.state.allocations[id]
	}
	yields := func(a *allocation) gang.ID {
		r.scheduler.snapshotCluster(now)
		return r.scheduler.describeGang(a, now).Yields
	}
	low := submit("low", "low.1", 20)
	high := submit("high", "high.1", 80)
	low.phase, low.attempt = Running, 1
	r.scheduler.decideQueues(now)
	if low.release == nil {
		t.Fatalf("got %q, want the task of low priority preempted", high.waiting)
	}
	again := submit("low", "low.2", 20)
	if got := yields(again); got != "high.1" {
		t.Errorf("got %q, want that it yields to high.1", got)
	}
	if got := yields(high); got != "" {
		t.Errorf("got %q, want that the other yields to none", got)
	}
	high.phase = Running
	if got := yields(again); got != "" {
		t.Errorf("got %q when the other runs, want none", got)
	}
}
