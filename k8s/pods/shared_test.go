package pods_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/rm"
)

// mayRead grants a service account of the test read access to cluster-wide objects.
func (m *master) mayRead(name string, kinds string) (revoke func()) {
	m.t.Helper()
	role := m.namespace + "-" + name + "-" + kinds
	m.c.Kubectl("create", "clusterrole", role, "--verb=get,list,watch", "--resource="+kinds)
	m.c.Kubectl("create", "clusterrolebinding", role, "--clusterrole="+role, "--serviceaccount="+m.namespace+":"+name)
	revoke = func() {
		m.c.Kubectl("delete", "--ignore-not-found", "clusterrolebinding/"+role, "clusterrole/"+role)
	}
	m.t.Cleanup(revoke)
	return revoke
}

// stranger creates a pod of another namespace on a node, with a number of GPUs.
func (m *master) stranger(node string, gpus string) {
	m.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)},
	}}}
	other := m.c.Namespace("other-" + m.namespace)
	if _, err := m.client.CoreV1().Pods(other).Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// A cluster with the chart's default permissions: nodes are visible, and pods of other namespaces
// are not.
func TestCapacityOfSharedClusterIsLearned(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	m.stop()
	m.as("shared", namespaced()...)
	m.mayRead("shared", "nodes")
	client := m.edit
	m.edit = func(c *pods.Config) {
		client(c)
		c.Gang.Preemption, c.Gang.Settle, c.Limits.Sight = true, 2*time.Second, 500*time.Millisecond
		c.Gang.MaxBackOff = 5 * time.Minute
	}
	m.stranger(m.node(1), "8")
	m.start()
	low := m.submit(program{Forever: true}, func(q *rm.Request) { q.Slots, q.Preemptible, q.Priority = 8, true, 20 })
	m.await(low, "it runs beside the other's pod", runs(1))
	high := m.submit(program{Forever: true}, func(q *rm.Request) { q.Slots, q.Priority = 8, 80 })
	w := m.await(low, "it makes room, though the other node seems to be free", over)
	if w.end.Cause != rm.CausePreempted || !strings.Contains(w.warned, taskOf(high)) {
		t.Errorf("got %+v, warned %q; want preempted for %s", w.end, w.warned, high)
	}
	m.await(high, "it runs in its place", runs(1))

	gang := m.submit(program{Lines: 1}, slots(16))
	m.c.Await("it reports that it waits for room that others hold", func() error {
		a, _ := m.rm.Allocation(gang)
		if !strings.Contains(a.Waiting, "0 fit now") && !strings.Contains(a.Waiting, "none fits now") || !strings.Contains(a.Waiting, "is asked again at") {
			return fmt.Errorf("it waits for %q", a.Waiting)
		}
		return nil
	})
	if n := len(m.pods(gang)); n > 0 {
		t.Errorf("got %d pods of a gang that is not tried, want none", n)
	}

	m.mayRead("shared", "pods")
	m.c.Await("it is noticed that others' pods may be seen", func() error {
		a, _ := m.rm.Allocation(gang)
		if strings.Contains(a.Waiting, "is asked again at") || !strings.Contains(a.Waiting, "none fits now") {
			return fmt.Errorf("it waits for %q", a.Waiting)
		}
		return nil
	})
	for _, id := range []rm.AllocationID{high, gang} {
		if err := m.rm.Kill(t.Context(), id, "seen"); err != nil {
			t.Fatal(err)
		}
		m.await(id, "it was killed", over)
	}
	m.awaitNothing()
}

// Permissions of the service account are granted and revoked while the master runs.
func TestPermissionsChangeUnderARunningMaster(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	m.stop()
	m.as("changing", namespaced()...)
	client := m.edit
	m.edit = func(c *pods.Config) { client(c); c.Limits.Sight = 500 * time.Millisecond }
	m.start()
	agents := func(want int) func() error {
		return func() error {
			if got := m.rm.Agents(); len(got) != want {
				return fmt.Errorf("there are %d agents, want %d", len(got), want)
			}
			return nil
		}
	}
	m.c.Await("no node is seen", agents(0))
	revoke := m.mayRead("changing", "nodes")
	m.c.Await("its node is seen", func() error {
		for _, a := range m.rm.Agents() {
			if a.GetId() == m.node(1) && a.GetEnabled() {
				return nil
			}
		}
		return fmt.Errorf("there are %v", m.rm.Agents())
	})
	revoke()
	m.c.Await("no node is seen any more", agents(0))
	id := m.submit(program{Lines: 1}, slots(8))
	m.await(id, "it has run all the same", over)
	m.awaitNothing()
}
