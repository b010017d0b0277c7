package pods_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// A master whose tasks move to a separate namespace adopts the tasks that an earlier one started in
// its own namespace: running ones end there, and later ones are started in the new one.
func TestTasksOfTheFormerNamespaceEndThere(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(3)
	long := m.submit(program{Lines: 100, Every: 100 * time.Millisecond}, slots(16))
	m.await(long, "two pods run", runs(2))
	waits := m.submit(program{Lines: 5}, slots(24)) // starts in the new namespace
	m.stop()
	former := m.namespace
	m.namespace = m.c.Namespace(former + "-tasks")
	m.edit = func(c *pods.Config) { c.Former = []string{former} }
	m.start()
	later := m.submit(program{Lines: 3, Every: 2 * time.Second}, slots(8))
	m.await(later, "one pod runs", runs(1))
	if got := m.pods(later); len(got) != 1 {
		t.Errorf("got %d pods in the new namespace, want 1", len(got))
	}
	for id, lines := range map[rm.AllocationID]int{later: 3, long: 100, waits: 5} {
		if w := m.await(id, "it has ended", over); w.end.Cause != rm.CauseExited {
			t.Errorf("%s: got %+v, want exited", id, w.end)
		}
		m.checkLines(id, lines)
	}
	m.awaitNothing()
	m.namespace = former
	m.awaitNothing()
	m.awaitForgotten()
}

// The Secret with a task's tokens is deleted when its containers no longer need it.
func TestTheSecretOfATaskThatRunsIsDeleted(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	id := m.submit(program{Forever: true}, slots(16))
	m.await(id, "two pods run", runs(2))
	m.c.Await("its Secret is deleted", func() error {
		_, err := m.client.CoreV1().Secrets(m.namespace).Get(t.Context(), podspec.JobName(id, 1), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	for _, p := range m.pods(id) {
		if p.DeletionTimestamp != nil {
			t.Error(fmt.Errorf("pod %s is being deleted", p.Name))
		}
	}
	m.stop()
	m.start() // deletes it again
	if err := m.rm.Kill(t.Context(), id, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	m.await(id, "it was killed", over)
	m.awaitNothing()
}
