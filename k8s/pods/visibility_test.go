package pods_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/rm"
)

// as makes the master use a service account with only the permissions in rules, in its namespace.
func (m *master) as(name string, rules ...string) {
	m.t.Helper()
	m.c.Kubectl("create", "serviceaccount", name, "-n", m.namespace)
	for i, rule := range rules {
		verbs, kinds, _ := strings.Cut(rule, " ")
		role := fmt.Sprintf("%s-%d", name, i)
		m.c.Kubectl("create", "role", role, "-n", m.namespace, "--verb="+verbs, "--resource="+kinds)
		m.c.Kubectl("create", "rolebinding", role, "-n", m.namespace, "--role="+role, "--serviceaccount="+m.namespace+":"+name)
	}
	cfg := m.c.Config()
	cfg.QPS, cfg.Burst = 500, 1000
	cfg.Impersonate.UserName = "system:serviceaccount:" + m.namespace + ":" + name
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.edit = func(c *pods.Config) { c.Client = client }
}

// namespaced returns the rules of the chart's Role without its ClusterRole.
func namespaced() []string {
	return []string{
		"create,delete,get,list,patch,watch jobs,pods", "get pods/log", "create,delete secrets", "create services", "get,list,watch events",
	}
}

func TestMasterWithoutAccessToNodes(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	m.stop()
	m.as("blinkered", namespaced()...)
	m.start()
	first := m.submit(program{Forever: true}, slots(16))
	m.await(first, "two pods run", runs(2))
	agents := m.rm.Agents()
	if len(agents) != 2 || agents[0].GetId() != m.node(1) || !agents[0].GetEnabled() || len(agents[0].GetSlots()) != 8 {
		t.Errorf("got agents %v, want the two that pods are on, with their 8 slots", agents)
	}
	for _, p := range m.rm.Pools() {
		if p.GetNumAgents() != 2 || p.GetSlotsUsed() != 16 {
			t.Errorf("got %d agents and %d used slots in pool %s, want 2 and 16", p.GetNumAgents(), p.GetSlotsUsed(), p.GetName())
		}
	}
	// The master does not see that the task does not fit, so it creates the pods, and only the
	// scheduler reports it.
	second := m.submit(program{Lines: 1}, slots(8))
	m.await(second, "the scheduler's word is told", func(w owned) bool { return strings.Contains(strings.Join(w.waits, "\n"), "nodes are available") })
	if w := m.told(second); len(w.states) > 0 {
		t.Errorf("got states %v of a task without a node, want none", w.states)
	}
	if err := m.rm.Kill(t.Context(), first, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	m.await(first, "it was killed", over)
	m.await(second, "the other has run", over)
	m.awaitNothing()
}

func TestMasterReportsMissingWatchPermission(t *testing.T) {
	m := newMaster(t, nil)
	m.stop()
	m.as("blind", "create,delete,get,list,patch,watch jobs,pods")
	m.start()
	id := m.submit(program{Lines: 1}, nil)
	m.c.Await("it reports what it may not", func() error {
		a, _ := m.rm.Allocation(id)
		if !strings.Contains(a.Waiting, "watch events of") || !strings.Contains(a.Waiting, "forbidden") {
			return fmt.Errorf("it waits for %q", a.Waiting)
		}
		return nil
	})
}

// Two clusters may share nodes: slots of the other cluster's tasks are not free.
func TestResourcesOfOtherClusterAreInUse(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	other := m.c.Namespace("other-" + m.namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{
		"determined": "b.1", "det-deploy.dev/cluster": "lab", // the same name in another namespace
	}}}
	pod.Spec.NodeName = m.node(1)
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "x", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
	}}}
	if _, err := m.client.CoreV1().Pods(other).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.c.Await("the other's pod is seen", func() error {
		id := m.submit(program{Lines: 1}, slots(8))
		w := m.await(id, "it waits for room or has run", func(w owned) bool {
			return slices.ContainsFunc(w.waits, func(s string) bool { return strings.HasPrefix(s, "room: ") }) || over(w)
		})
		if over(w) {
			return errors.New("there was room")
		}
		// Its pod may reach the scheduler before the watch reports the other pod, and is then
		// undone immediately.
		if slices.ContainsFunc(w.waits, func(s string) bool { return strings.HasPrefix(s, "undone: ") }) {
			t.Errorf("got %q, want that there is no room, and no try that lasts to its limit", w.waits)
		}
		return m.rm.Kill(t.Context(), id, "seen")
	})
	m.awaitNothing()
}

func TestRunningTasksSurviveSettingsChange(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	id := m.submit(program{Forever: true}, slots(16))
	m.await(id, "two pods run", runs(2))
	for _, most := range []int{16, 3} { // it would have one pod that could not be divided
		m.stop()
		m.edit = func(c *pods.Config) { c.Pools[0].Template.MaxSlotsPerPod = most }
		m.start()
		m.c.Await("it is taken up", func() error {
			if a, found := m.rm.Allocation(id); !found || len(a.Containers) != 2 || a.Containers[1].Agent == "" {
				return fmt.Errorf("found %t: %+v", found, a)
			}
			return nil
		})
	}
	if err := m.rm.Kill(t.Context(), id, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	w := m.await(id, "it was killed", over)
	if w.end.Cause != rm.CauseKilled || len(w.exits) != 2 {
		t.Errorf("got %+v and exits %v, want killed and two", w.end, w.exits)
	}
	m.awaitNothing()
}

func TestImpossibleTaskIsRejectedImmediately(t *testing.T) {
	t.Parallel()
	r, err := pods.New(pods.Config{
		Client: fake.NewClientset(), Cluster: "lab", Namespace: "tasks", Tasks: newOwner(t), Logs: newOwner(t), Memory: &memory{},
		Pools: []pods.Pool{{Name: "default", Template: template("tasks")}}, DefaultAux: "default", DefaultCompute: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request rm.Request
		want    string
	}{
		"slots that cannot be divided": {
			request: rm.Request{Slots: 12},
			want:    `request unfulfillable: 12 slots in resource pool "default": 12 slots cannot be divided into equal pods of max_slots_per_pod 8; ask for 8 or 16`,
		},
		"a command that one pod cannot hold": {
			request: rm.Request{Slots: 16, SingleNode: true},
			want:    `request unfulfillable: 16 slots in resource pool "default": 16 slots on a single node are more than a pod may have (max_slots_per_pod is 8)`,
		},
		"a node's name": {
			request: rm.Request{PodSpec: []byte(`{"spec": {"nodeName": "n1"}}`)},
			want:    "environment.pod_spec: spec.nodeName must not be set",
		},
		"no pod at all": {
			request: rm.Request{PodSpec: []byte(`{"spec": {"nodeSelektor": {}}}`)},
			want:    `environment.pod_spec: unknown field "spec.nodeSelektor"`,
		},
		"a mount over the cluster's files": {
			request: rm.Request{PodSpec: []byte(`{"spec": {"containers": [{"name": "determined-container", "volumeMounts": [{"name": "x", "mountPath": "/run//determined/"}]}]}}`)},
			want:    "volumeMounts[/run//determined/] must not be set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.request.Allocation, c.request.Job = "a.1", "a"
			err := r.Validate(c.request)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if u, is := errors.AsType[*rm.Unfulfillable](err); is {
				t.Errorf("got %v, which may become possible", u)
			}
		})
	}
}

// An autoscaler adds nodes for pods that the scheduler cannot place.
func TestGrowingPoolShowsPodsToAutoscaler(t *testing.T) {
	m := newMaster(t, func(c *pods.Config) { c.Pools[0].Autoscaled = true })
	id := m.submit(program{Lines: 1}, slots(16))
	m.c.Await("the scheduler has found no node for its pods", func() error {
		all := m.pods(id)
		for _, pod := range all {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					return nil
				}
			}
		}
		return fmt.Errorf("there are %d pods", len(all))
	})
	m.newKubelets(2)
	m.await(id, "it has run on the new nodes", over)
	m.awaitNothing()
}
