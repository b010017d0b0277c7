package pods

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The result for a gang that a restarted master did not know to be running.
func TestRemainsOfGang(t *testing.T) {
	t.Parallel()
	ended := func(kind batchv1.JobConditionType, status batchv1.JobStatus) batchv1.JobStatus {
		status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Message: "so says the Job"}}
		return status
	}
	taken := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.Now())}
	for name, c := range map[string]struct {
		job  batchv1.JobStatus
		pods map[int]corev1.PodStatus
		// gated is the number of additional pods with a scheduling gate.
		gated int
		// phase is the phase afterwards, and undo the reason for undoing the attempt.
		phase Phase
		undo  string
	}{
		"all run, and it is opened":               {pods: map[int]corev1.PodStatus{0: taken, 1: taken}, phase: Opening},
		"both wait behind their gates":            {gated: 2, phase: Gated},
		"one runs, and one waits behind its gate": {pods: map[int]corev1.PodStatus{0: taken}, gated: 1, phase: Opening},
		"one is to be made":                       {pods: map[int]corev1.PodStatus{0: taken}, phase: Gated},
		"one has failed and is gone":              {job: batchv1.JobStatus{FailedIndexes: new("1")}, pods: map[int]corev1.PodStatus{0: taken}, phase: Gated, undo: "the pod of rank 1 is gone"},
		"both are gone":                           {job: ended(batchv1.JobFailed, batchv1.JobStatus{FailedIndexes: new("0,1")}), phase: Gated, undo: "makes no other: so says the Job"},
		"its Job has failed for another reason":   {job: ended(batchv1.JobFailed, batchv1.JobStatus{}), pods: map[int]corev1.PodStatus{1: taken}, phase: Gated, undo: "rank 0 is gone"},
		"both have ended well and are gone":       {job: ended(batchv1.JobComplete, batchv1.JobStatus{CompletedIndexes: "0,1"}), phase: Opening},
		"one has ended well and the other runs":   {job: batchv1.JobStatus{CompletedIndexes: "0"}, pods: map[int]corev1.PodStatus{1: taken}, phase: Opening},
		"one has ended well, and one has failed":  {job: ended(batchv1.JobFailed, batchv1.JobStatus{CompletedIndexes: "0", FailedIndexes: new("1")}), phase: Gated, undo: "rank 1 is gone"},
		"one has failed and is there":             {job: batchv1.JobStatus{FailedIndexes: new("1")}, pods: map[int]corev1.PodStatus{0: taken, 1: taken}, phase: Opening},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := still(t, shelf{})
			if err := r.Submit(t.Context(), rm.Request{Allocation: "a.1", Job: "a", Slots: 16, Submitted: time.Now()}); err != nil {
				t.Fatal(err)
			}
			a := r.state.allocations["a.1"]
			a.phase, a.since, a.attempt = Gated, time.Now(), 1
			job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(2))}, Status: c.job}
			pods := map[int]*corev1.Pod{}
			for rank, status := range c.pods {
				pods[rank] = &corev1.Pod{Status: status, Spec: corev1.PodSpec{NodeName: "n1"}}
			}
			for range c.gated {
				gated := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: podspec.Gate}}}}
				pods[len(pods)] = gated
			}
			g := r.worker.starter.countPods(w, a, job, pods)
			if whole := c.phase == Opening && c.gated == 0; a.phase != c.phase || g.whole != whole {
				t.Errorf("got phase %s, whole %t; want %s", a.phase, g.whole, c.phase)
			}
			if !strings.Contains(g.undo, c.undo) || c.undo == "" && g.undo != "" {
				t.Errorf("got undone because %q, want %q", g.undo, c.undo)
			}
		})
	}
}

// The exit code of a deleted pod's program is known if its Job has counted it.
func TestDeletedPodMayHaveSucceeded(t *testing.T) {
	t.Parallel()
	r, _ := still(t, shelf{})
	job := &batchv1.Job{Status: batchv1.JobStatus{CompletedIndexes: "1"}}
	job.Name, job.Namespace = podspec.JobName("a.1", 1), "former"
	a := &allocation{Entry: &queue.Entry{Request: rm.Request{Allocation: "a.1"}}, attempt: 1}
	for rank, want := range []agentv1.Exit_Kind{agentv1.Exit_KIND_LOST, agentv1.Exit_KIND_EXITED} {
		s := r.runner.observeMissing(a, &container{rank: rank}, job)
		if s.Exit.GetKind() != want || s.Exit.GetCode() != 0 || s.Lost != (want == agentv1.Exit_KIND_LOST) {
			t.Errorf("rank %d: got %v, lost %t; want %s", rank, s.Exit, s.Lost, want)
		}
	}
	refused := &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED}
	if s := r.runner.observeMissing(a, &container{rank: 1, decidedExit: refused}, job); s.Exit != refused {
		t.Errorf("got %v, want what was decided before", s.Exit)
	}
}
