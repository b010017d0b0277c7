package nodes_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// usage returns the compared amounts of nodes: those that are not zero.
func usage(all []gang.Node) map[gang.NodeID][2]gang.Resources {
	out := make(map[gang.NodeID][2]gang.Resources)
	for _, n := range all {
		both := [2]gang.Resources{{}, {}}
		for i, from := range []gang.Resources{n.Used, n.Own} {
			for name, amount := range from {
				if amount != 0 {
					both[i][name] = amount
				}
			}
		}
		out[n.ID] = both
	}
	return out
}

// The capacity that is updated by changes equals that of a new count of all pods.
func TestChangesAddUpToState(t *testing.T) {
	t.Parallel()
	client, kept := fake.NewClientset(), nodes.NewCapacity()
	w, err := watch.Open(t.Context(), watch.Config{
		Log: slog.New(slog.DiscardHandler), Client: client, Cluster: "lab", Namespace: "tasks",
		OnChange: func(rm.AllocationID, bool) {}, OnError: func(error) {}, Changes: kept,
	})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	living := map[string]*corev1.Pod{}
	enabled := func(rm.AgentID) bool { return false }
	for i := range 400 {
		change(t, client, random, living, i)
		if i%40 != 39 {
			continue
		}
		var diff string
		tick, end := time.NewTicker(10*time.Millisecond), time.Now().Add(time.Minute)
		for now := time.Now(); now.Before(end); now = <-tick.C {
			want := usage(nodes.NewCapacity().Describe(w, enabled))
			diff = cmp.Diff(usage(kept.Describe(w, enabled)), want)
			if placed := placedIn(want); diff == "" && placed != len(living) {
				diff = fmt.Sprintf("%d pods are placed, and %d are seen", len(living), placed)
			}
			if diff == "" {
				break
			}
		}
		if tick.Stop(); diff != "" {
			t.Fatalf("after %d changes: got -, want +:\n%s", i, diff)
		}
	}
}

func placedIn(all map[gang.NodeID][2]gang.Resources) int {
	n := 0
	for _, both := range all {
		n += int(both[0][corev1.ResourcePods])
	}
	return n
}

// A pod that is no longer watched is not counted, although its last change was recorded and its end
// is never reported.
func TestUnwatchedPodsAreNotCounted(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{}
	node.Name = "n0"
	kept := nodes.NewCapacity()
	w, err := watch.Open(t.Context(), watch.Config{
		Log: slog.New(slog.DiscardHandler), Client: fake.NewClientset(node), Cluster: "lab", Namespace: "tasks",
		OnChange: func(rm.AllocationID, bool) {}, OnError: func(error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	enabled := func(rm.AgentID) bool { return false }
	kept.Describe(w, enabled)
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.UID, pod.Spec.NodeName = "p", "elsewhere", "u", "n0"
	kept.PodChanged(pod)
	kept.AllChanged()
	if got := kept.Describe(w, enabled); len(got) != 1 || placedIn(usage(got)) != 0 {
		t.Errorf("got %+v, want a node without pods", got)
	}
}

// change creates a node, or creates, completes, deletes or replaces a pod.
func change(t *testing.T, client *fake.Clientset, random *rand.Rand, living map[string]*corev1.Pod, i int) {
	t.Helper()
	ctx, at := t.Context(), fmt.Sprintf("n%d", random.IntN(4))
	if i < 4 {
		n := &corev1.Node{}
		n.Name = fmt.Sprintf("n%d", i)
		if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(living) > 0 && random.IntN(2) == 0 {
		for name, pod := range living { // in random order
			if random.IntN(3) == 0 { // like a watch that was interrupted while the pod was deleted
				pod = pod.DeepCopy()
				pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprintf("u%d", i)), at
				if _, err := client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				living[name] = pod
				return
			}
			delete(living, name)
			if random.IntN(2) == 0 {
				pod.Status.Phase = corev1.PodSucceeded
				if _, err := client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace, pod.UID = fmt.Sprintf("p%d", i), "tasks", types.UID(fmt.Sprintf("u%d", i))
	pod.Labels = map[string]string{podspec.LabelCluster: "lab", podspec.LabelTask: "t"}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": *resource.NewQuantity(int64(1+random.IntN(3)), resource.DecimalSI)},
	}}}
	pod, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err == nil {
		pod.Spec.NodeName = at
		pod.ResourceVersion = fmt.Sprint(i)
		pod, err = client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	living[pod.Name] = pod
}
