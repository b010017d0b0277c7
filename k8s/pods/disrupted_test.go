package pods_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// gangOfTwo runs a gang on two nodes, with a grace period in seconds, and returns its pods by rank.
func (m *master) gangOfTwo(p program, grace int) (rm.AllocationID, []corev1.Pod) {
	m.t.Helper()
	id := m.submit(p, func(q *rm.Request) {
		q.Slots, q.PodSpec = 16, fmt.Appendf(nil, `{"spec": {"terminationGracePeriodSeconds": %d}}`, grace)
	})
	m.await(id, "two pods run", runs(2))
	all := m.pods(id)
	slices.SortFunc(all, func(a, b corev1.Pod) int {
		x, _ := podspec.RankOf(&a)
		y, _ := podspec.RankOf(&b)
		return x - y
	})
	return id, all
}

// listens makes the program of an allocation poll for the preemption signal.
func (m *master) listens(id rm.AllocationID) {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	m.owner.tasks[id].listens = true
}

// failsFirst makes one rank fail, and its owner kill the others for that reason.
func (m *master) failsFirst(nodes *kubelets, id rm.AllocationID, pod corev1.Pod) {
	m.t.Helper()
	nodes.finishPod(pod.Name, 1)
	m.await(id, "the other rank has failed", func(w owned) bool { return len(w.exits) > 0 })
	if err := m.rm.Kill(m.t.Context(), id, "a rank has failed"); err != nil {
		m.t.Fatal(err)
	}
}

// A rank notices the loss of another as soon as that receives SIGTERM, and often fails before the
// lost one has ended. The machine is the cause nevertheless, for each way to delete the pod.
func TestRankFailureAfterEvictionOfAnother(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(*master, corev1.Pod)
		want string
	}{
		{"deleted by another client", func(m *master, pod corev1.Pod) {
			m.c.Kubectl("delete", "pod", "-n", m.namespace, "--wait=false", "--grace-period=60", pod.Name)
		}, "deleted by another client"},
		{"evicted by its node", func(m *master, pod corev1.Pod) {
			patch := `{"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","message":"the node was low on memory"}]}}`
			_, err := m.client.CoreV1().Pods(m.namespace).Patch(m.t.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			if err != nil {
				m.t.Fatal(err)
			}
		}, "the node was low on memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaster(t, nil)
			nodes := m.newKubelets(2)
			id, two := m.gangOfTwo(program{Forever: true}, 30)
			m.listens(id)
			nodes.ignoreTerm(id)
			c.take(m, two[1])
			m.await(id, "it is asked to save itself", func(w owned) bool { return strings.Contains(w.warned, c.want) })
			m.failsFirst(nodes, id, two[0])
			nodes.finishPod(two[1].Name, 143)
			w := m.await(id, "all of it has ended", over)
			if w.end.Cause != rm.CauseAgentLost || !strings.Contains(w.end.Reason, c.want) {
				t.Errorf("got %+v, want the machine as the cause", w.end)
			}
			m.awaitNothing()
		})
	}
}

// The other ranks notice the loss of a node before Kubernetes reports it.
func TestRankFailureAfterNodeLoss(t *testing.T) {
	m := newMaster(t, nil)
	nodes := m.newKubelets(2)
	id, two := m.gangOfTwo(program{Forever: true, Deaf: true}, 1)
	m.failsFirst(nodes, id, two[0])
	w := m.await(id, "all of it has ended", over)
	if w.end.Cause != rm.CauseAgentLost || !strings.Contains(w.end.Reason, "does not answer") {
		t.Errorf("got %+v, want the machine as the cause", w.end)
	}
	m.awaitNothing()
}

// A program that ignores SIGTERM can save a checkpoint until its pod is deleted.
func TestProgramIsNotifiedOfPodDeletion(t *testing.T) {
	m := newMaster(t, nil)
	nodes := m.newKubelets(1)
	id := m.submit(program{Forever: true}, slots(8))
	m.await(id, "it runs", runs(1))
	m.listens(id)
	nodes.ignoreTerm(id)
	m.c.Kubectl("delete", "pod", "-n", m.namespace, "--wait=false", "--grace-period=60", m.pods(id)[0].Name)
	m.await(id, "it is asked to save itself", func(w owned) bool { return strings.Contains(w.warned, "deleted by another client") })
	if a, found := m.rm.Allocation(id); !found || time.Until(a.PreemptBy) < 30*time.Second {
		t.Errorf("got until %s, want what the pod has left of its minute", a.PreemptBy)
	}
	m.stop()
	m.start() // the warning outlives the master
	nodes.finish(id, 0)
	w := m.await(id, "it has ended", over)
	if w.end.Cause != rm.CauseAgentLost || w.exits[w.assigned[0].ID].GetCode() != 0 {
		t.Errorf("got %+v and exits %v, want its own end, after its machine was to be lost", w.end, w.exits)
	}
	m.awaitNothing()
}
