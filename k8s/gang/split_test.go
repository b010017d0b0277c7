package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		slots, most int
		single      bool
		pods, each  int
		refused     string
	}{
		{slots: 0, most: 0, pods: 1, each: 0},
		{slots: 3, most: 8, pods: 1, each: 3},
		{slots: 8, most: 8, single: true, pods: 1, each: 8},
		{slots: 32, most: 8, pods: 4, each: 8},
		{slots: 12, most: 8, refused: "ask for 8 or 16"},
		{slots: 1, most: 0, refused: "max_slots_per_pod is 0"},
		{slots: 16, most: 8, single: true, refused: "on a single node"},
		{slots: -1, most: 8, refused: "at least 0"},
	} {
		t.Run(fmt.Sprintf("%d by %d, single %v", test.slots, test.most, test.single), func(t *testing.T) {
			t.Parallel()
			pods, each, err := Split(test.slots, test.most, test.single)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Fatalf("got %v, want %q in it", err, test.refused)
				}
				return
			}
			if pods != test.pods || each != test.each || err != nil {
				t.Errorf("got %d pods of %d, %v, want %d of %d", pods, each, err, test.pods, test.each)
			}
		})
	}
}

func TestCapacityOfEmptyCluster(t *testing.T) {
	t.Parallel()
	nodes := []Node{gpus("a", 8, 8), gpus("b", 8, 8), gpus("c", 4, 0)}
	p8 := pod(t, gpuSpec(8))
	fits := func(pods int, exclude ...NodeID) bool {
		c := Cluster{Nodes: nodes, Gangs: []Gang{{Pods: pods, Pod: p8, Exclude: exclude}}}
		b := newBoard(c)
		return b.holdsPods(b.shapeOf(&c.Gangs[0]), pods)
	}
	if !fits(2) {
		t.Error("two pods do not fit, although two nodes could hold them if nothing ran there")
	}
	if fits(3) || fits(2, "a") {
		t.Error("more pods fit than there are nodes for")
	}
}

func TestPodPlacementConstraints(t *testing.T) {
	t.Parallel()
	tainted := func(effect corev1.TaintEffect) Node {
		n := gpus("a", 8, 0)
		n.Taints = []Taint{{Key: "k", Value: "v", Effect: effect}}
		return n
	}
	changed := func(edit func(*Node)) Node { n := gpus("a", 8, 0); edit(&n); return n }
	affinity := func(key string, op corev1.NodeSelectorOperator, values ...string) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
				}},
			}}
		}
	}
	tolerates := func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	for _, test := range []struct {
		name string
		node Node
		edit func(*corev1.PodSpec)
		want bool
	}{
		{"a plain node", gpus("a", 8, 0), nil, true},
		{"a node that is not ready", changed(func(n *Node) { n.Ready = false }), nil, false},
		{"a cordoned node", changed(func(n *Node) { n.Unschedulable = true }), nil, false},
		{"a disabled node", changed(func(n *Node) { n.Disabled = true }), nil, false},
		{"a taint that is not tolerated", tainted(corev1.TaintEffectNoSchedule), nil, false},
		{"a taint that is tolerated", tainted(corev1.TaintEffectNoExecute), tolerates, true},
		{"a taint that is only a wish", tainted(corev1.TaintEffectPreferNoSchedule), nil, true},
		{"a selector that matches", gpus("a", 8, 0), func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"name": "a"} }, true},
		{"a selector that does not", gpus("a", 8, 0), func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"name": "b"} }, false},
		{"an affinity that matches", gpus("a", 8, 0), affinity("name", corev1.NodeSelectorOpIn, "b", "a"), true},
		{"an affinity that does not", gpus("a", 8, 0), affinity("name", corev1.NodeSelectorOpNotIn, "a"), false},
		{"an affinity that cannot be read", gpus("a", 8, 0), affinity("name", "Nonsense", "a"), false},
		{"too much memory", gpus("a", 8, 0), func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
		}, false},
		{"CPUs of an init container", gpus("a", 8, 0), func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")},
			}}}
		}, false},
		{"no place among the node's pods", changed(func(n *Node) { n.Used["pods"] = 110 }), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := gpuSpec(1)
			if test.edit != nil {
				test.edit(spec)
			}
			d := Decide(Cluster{Options: DefaultOptions(), Nodes: []Node{test.node}, Gangs: []Gang{
				{ID: "g", Pods: 1, Pod: pod(t, spec), Priority: 50, State: Queued},
			}}, epoch())
			if got := len(d.Create) == 1; got != test.want {
				t.Errorf("got %v, want %v: %s", got, test.want, d.Waiting["g"].Text)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	p8 := pod(t, gpuSpec(8))
	node := []Node{gpus("a", 8, 0), gpus("b", 8, 1), gpus("c", 8, 8)}
	for i := range node {
		node[i].Allocatable["memory"], node[i].Used["memory"] = 32<<30, 22<<30
	}
	node[0].Used["cpu"] = 34000
	asks := func(amounts ...string) *Pod {
		s := gpuSpec(0)
		s.Containers[0].Resources.Requests = corev1.ResourceList{}
		for i := 0; i < len(amounts); i += 2 {
			s.Containers[0].Resources.Requests[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
		}
		return pod(t, s)
	}
	scheduledBy := func(name string) *Pod {
		return pod(t, gpuSpec(8, func(s *corev1.PodSpec) { s.SchedulerName = name }))
	}
	for _, test := range []struct {
		name string
		gang Gang
		want string
	}{
		{"a gang", Gang{Pods: 2}, "needs 2 pods of 8 nvidia.com/gpu; 1 fit now"},
		{"a gang that is too large", Gang{Pods: 4}, "needs 4 pods of 8 nvidia.com/gpu; the cluster could hold 3 if nothing else ran on it"},
		{"a job's limit", Gang{Pods: 1, Slots: 8, MaxSlots: 4}, "needs 8 slots; its job has 0 of max_slots 4"},
		{"a quota", Gang{Pods: 2, State: Gated, Since: epoch(), Made: 1, Trouble: "exceeded quota: gpus"}, "needs 2 pods of 8 nvidia.com/gpu; 1 fit now; 1 of its 2 pods exist: exceeded quota: gpus"},
		{"a pause", Gang{Pods: 1, Undone: 2, NotBefore: epoch().Add(time.Second)}, "pauses until 12:00:01 UTC after 2 failed tries"},
		{"nodes that are all excluded", Gang{Pods: 1, Exclude: []NodeID{"a", "b", "c"}}, "needs 1 pod of 8 nvidia.com/gpu; none of the 3 nodes is ready, enabled and allowed by its selectors and tolerations"},
		{"a pause after an error", Gang{Pods: 1, Undone: 1, NotBefore: epoch().Add(time.Second), Trouble: "no such claim"}, "pauses until 12:00:01 UTC after 1 failed try: no such claim"},
		{"one node's worth", Gang{Pods: 1, Exclude: []NodeID{"a"}}, "needs 1 pod of 8 nvidia.com/gpu; none fits now, and the most that a node has left is 7 nvidia.com/gpu"},
		{
			"memory",
			Gang{Pods: 1, Pod: asks("nvidia.com/gpu", "1", "memory", "20Gi")},
			"needs 1 pod of 20480 MiB memory, 1 nvidia.com/gpu; none fits now, and the most that a node has left is 10240 MiB memory",
		},
		{
			"each on another node",
			Gang{Pods: 1, Pod: asks("nvidia.com/gpu", "8", "cpu", "30500m"), Exclude: []NodeID{"b"}},
			"needs 1 pod of 30.5 CPU, 8 nvidia.com/gpu; none fits now, and no node has all of that left",
		},
		{
			"a resource without a node",
			Gang{Pods: 1, Pod: asks("nvidia.com/gpu", "1", "rdma/hca", "1")},
			"needs 1 pod of 1 nvidia.com/gpu, 1 rdma/hca; no node that it may use has rdma/hca",
		},
		{
			"an autoscaler",
			Gang{Pods: 2, State: Binding, Since: epoch(), Made: 2, Stretched: true, Autoscaler: "TriggeredScaleUp: pod triggered scale-up"},
			"the scheduler has found a node for 0 of its 2 pods, and nodes may be added for it (TriggeredScaleUp: pod triggered scale-up)",
		},
		{
			"a scheduler that just got it",
			Gang{Pods: 1, Pod: scheduledBy("nobody"), State: Binding, Since: epoch(), Made: 1, Unseen: 1},
			"the scheduler nobody has found a node for 0 of its 1 pod",
		},
		{
			"a scheduler that does not run",
			Gang{Pods: 1, Pod: scheduledBy("nobody"), State: Binding, Since: epoch().Add(-10 * time.Second), Made: 1, Unseen: 1},
			"no scheduler has looked at 1 of its pods: is there one with the name nobody?",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := test.gang
			g.ID, g.Priority = "g", 50
			if g.Pod == nil {
				g.Pod = p8
			}
			if g.State == "" {
				g.State = Queued
			}
			got := Decide(Cluster{Options: DefaultOptions(), Nodes: node, Gangs: []Gang{g}}, epoch()).Waiting["g"].Text
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestPausesGrowAndDiffer(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	for n := range 12 {
		a, b := o.pauseAfter("a", n), o.pauseAfter("b", n)
		most := min(o.BackOff<<n, o.MaxBackOff)
		if a > most || a < most/2 || a == b || a != o.pauseAfter("a", n) {
			t.Errorf("after %d tries: got %v and %v, want two different ones of %v to %v", n, a, b, most/2, most)
		}
	}
}
