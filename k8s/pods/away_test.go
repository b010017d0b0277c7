package pods_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// job returns the only Job of an allocation. It returns an error if there is not exactly one.
func (m *master) job(id rm.AllocationID) (*batchv1.Job, error) {
	list, err := m.client.BatchV1().Jobs(m.namespace).List(m.t.Context(), metav1.ListOptions{LabelSelector: "determined=" + string(id)})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d Jobs, want 1", len(list.Items))
	}
	return &list.Items[0], nil
}

// awaitJob waits until yes returns true for the status of an allocation's Job.
func (m *master) awaitJob(id rm.AllocationID, what string, yes func(batchv1.JobStatus) bool) {
	m.t.Helper()
	m.c.Await(what, func() error {
		job, err := m.job(id)
		if err == nil && !yes(job.Status) {
			err = fmt.Errorf("its Job is %+v", job.Status)
		}
		return err
	})
}

// deletePod deletes the first pod of an allocation and waits until it is gone.
func (m *master) deletePod(id rm.AllocationID) {
	m.t.Helper()
	before := m.pods(id)
	m.c.Kubectl("delete", "pod", "-n", m.namespace, "--wait=false", before[0].Name)
	m.c.Await("the pod is gone", func() error {
		if now := m.pods(id); len(now) >= len(before) {
			return fmt.Errorf("there are %d", len(now))
		}
		return nil
	})
}

func placed(w owned) bool { return strings.Contains(strings.Join(w.waits, "\n"), "nodes: ") }

func undone(why string) func(owned) bool {
	return func(w owned) bool {
		return strings.Contains(strings.Join(w.waits, "\n"), "undone: "+why)
	}
}

// Pods are deleted while the master is down, before it knew that they run.
func TestEndDuringMasterDowntime(t *testing.T) {
	m := newMaster(t, nil)
	// Five nodes, because the scheduler may spread the two small tasks.
	nodes := m.newKubelets(5)
	gone := m.submit(program{Late: time.Hour, Forever: true}, slots(8))
	half := m.submit(program{Late: time.Hour, Forever: true}, slots(16))
	jobless := m.submit(program{Held: true, Lines: 1}, slots(1))
	ended := m.submit(program{Held: true, Lines: 1}, slots(1))
	for _, id := range []rm.AllocationID{gone, half, jobless, ended} {
		m.await(id, "its nodes have its pods", placed)
	}
	m.stop()
	nodes.begin()
	m.deletePod(gone)
	m.deletePod(half)
	m.c.Kubectl("delete", "job", "-n", m.namespace, "-l", "determined="+string(jobless))
	m.awaitJob(gone, "its Job has failed", func(s batchv1.JobStatus) bool { return s.FailedIndexes != nil && *s.FailedIndexes == "0" })
	m.awaitJob(half, "its Job has counted the pod", func(s batchv1.JobStatus) bool { return s.FailedIndexes != nil && *s.FailedIndexes != "" })
	m.awaitJob(ended, "its Job is complete", func(s batchv1.JobStatus) bool { return s.CompletedIndexes == "0" && s.CompletionTime != nil })
	m.deletePod(ended)
	m.start()
	m.await(gone, "it is queued again, with the reason", undone("the pod of rank 0 is gone, and its Job"))
	m.await(half, "it is queued again, with the reason", undone("the pod of rank"))
	w := m.await(ended, "it has ended", over)
	if e := w.exits[w.assigned[0].ID]; w.end.Cause != rm.CauseExited || e.GetCode() != 0 || !strings.Contains(e.GetMessage(), "its pod is gone") {
		t.Errorf("got %v and %+v, want code 0, and that its log is not there", e, w.end)
	}
	if w = m.await(jobless, "it has run in another Job", over); w.end.Cause != rm.CauseExited {
		t.Errorf("got %+v, want exited", w.end)
	}
	for _, id := range []rm.AllocationID{gone, half} {
		if err := m.rm.Kill(t.Context(), id, "seen"); err != nil {
			t.Fatal(err)
		}
		m.await(id, "it was killed", over)
	}
	m.awaitNothing()
	m.awaitForgotten()
}

// A task starts to run while the master is down and uses the last free slots. The master must not
// count the task's own pod as an obstacle for it.
func TestStartDuringMasterDowntime(t *testing.T) {
	m := newMaster(t, nil)
	nodes := m.newKubelets(1)
	id := m.submit(program{Held: true, Forever: true}, slots(8))
	m.await(id, "its node has its pod", placed)
	m.stop()
	nodes.begin()
	m.awaitJob(id, "its pod runs", func(s batchv1.JobStatus) bool { return s.Ready != nil && s.Active == 1 })
	m.c.Await("its pod runs", func() error {
		if pod := m.pods(id)[0]; pod.Status.Phase != "Running" {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
	m.start()
	m.await(id, "it is seen to run", runs(1))
	if err := m.rm.Kill(t.Context(), id, "seen"); err != nil {
		t.Fatal(err)
	}
	m.await(id, "it was killed", over)
	m.awaitNothing()
}
