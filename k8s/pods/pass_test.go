package pods

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// BenchmarkPassAfterAChange measures one pass over running gangs of four pods after the change of
// one pod, with the state of all others cached.
func BenchmarkPassAfterAChange(b *testing.B) {
	for _, pods := range []int{80, 800, 8000} {
		b.Run(fmt.Sprintf("%d pods", pods), func(b *testing.B) {
			r := busy(b, pods/4)
			s, one := r.scheduler, rm.AllocationID("")
			for one = range r.state.allocations {
				break
			}
			s.decideQueues(time.Now())
			began := measure.Processor()
			for b.Loop() {
				r.state.changed.note(one)
				s.decideQueues(time.Now())
			}
			// On a busy machine the elapsed time depends mostly on other processes.
			b.ReportMetric(float64(measure.Processor()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// busy returns a resource manager with running gangs on nodes of 8 GPUs.
func busy(b *testing.B, gangs int) *RM {
	b.Helper()
	client := fake.NewClientset()
	r, err := New(Config{
		Client: client, Cluster: "lab", Namespace: "tasks", Tasks: silent{}, Logs: noLogs{}, Memory: shelf{},
		Pools:      []Pool{{Name: "default", Template: podspec.Template{SlotType: podspec.CUDA, MaxSlotsPerPod: 1}}},
		DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		b.Fatal(err)
	}
	for i := range gangs {
		task := uuid.NewString()
		id := rm.AllocationID(task + ".1")
		if err := r.Submit(b.Context(), rm.Request{Allocation: id, Task: rm.TaskID(task), Job: rm.JobID(task), Slots: 4, Submitted: time.Now()}); err != nil {
			b.Fatal(err)
		}
		a := r.state.allocations[id]
		a.phase, a.attempt = Running, 1
		for rank := range 4 {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: fmt.Sprintf("n%d", i/2)}}
			pod.Name, pod.Namespace, pod.UID = fmt.Sprintf("%s-%d", task, rank), "tasks", types.UID(fmt.Sprintf("%d-%d", i, rank))
			pod.Labels = map[string]string{
				podspec.LabelCluster: "lab", podspec.LabelTask: string(id), podspec.LabelIndex: fmt.Sprint(rank), "batch.kubernetes.io/job-name": a.jobName(),
			}
			if err := client.Tracker().Add(pod); err != nil {
				b.Fatal(err)
			}
		}
	}
	for i := range (gangs + 1) / 2 {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
		if err := client.Tracker().Add(n); err != nil {
			b.Fatal(err)
		}
	}
	r.state.watch, err = watch.Open(b.Context(), watch.Config{
		Log: r.cfg.Log, Client: client, Cluster: "lab", Namespace: "tasks", OnChange: r.state.onChange, OnError: r.state.setUnknown, Changes: r.state.capacity,
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// A pace counts only the placements within its span.
func TestThePaceOfTheScheduler(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1000, 0)
	for i := range 10 {
		p.note(100, now.Add(time.Duration(i)*time.Second))
	}
	if got := p.perSecond(); got != 100 {
		t.Errorf("got %v pods a second, want 100", got)
	}
	p.note(0, now.Add(time.Hour))
	if got := p.perSecond(); got != 0 {
		t.Errorf("an hour later: got %v pods a second, want none", got)
	}
}
