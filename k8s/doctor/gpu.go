package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

func (w Wanted) checkGPUs(ctx context.Context) Result {
	nodes, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return unknownResult(kube.Call{Verb: "list", Resource: "nodes"}, err)
	}
	return judgeGPUs(nodes.Items, w.Slots)
}

// judgeGPUs compares maxSlotsPerPod with the allocatable GPUs of nodes. It makes no calls.
func judgeGPUs(nodes []corev1.Node, s Slots) Result {
	counts := make(map[int]int) // number of nodes by number of GPUs
	largest, divisor := 0, 0
	for _, n := range nodes {
		q := n.Status.Allocatable[s.Resource]
		have := int(q.Value())
		if have == 0 {
			continue
		}
		counts[have]++
		largest, divisor = max(largest, have), gcd(divisor, have)
	}
	if largest == 0 {
		return Result{
			Answer: Unknown, Found: fmt.Sprintf("none of %d nodes has %s", len(nodes), s.Resource), Needed: "nodes with GPUs, and their device plugin",
			Fix: "install the device plugin or GPU operator if the nodes have GPUs; ignore this if an autoscaler adds the nodes",
		}
	}
	found := describeCounts(counts, s.Resource)
	fix := fmt.Sprintf("--set maxSlotsPerPod=%d, the greatest common divisor of the nodes' GPU counts", divisor)
	switch {
	case s.MaxPerPod > largest:
		return Result{Answer: Fail, Found: found, Needed: fmt.Sprintf("a node with maxSlotsPerPod (%d) of them", s.MaxPerPod), Fix: fix}
	case s.MaxPerPod != divisor:
		return Result{
			Answer: Unknown, Found: found + fmt.Sprintf(", and maxSlotsPerPod is %d", s.MaxPerPod),
			Needed: "a common divisor of the nodes' GPU counts; otherwise large tasks leave GPUs idle", Fix: fix,
		}
	}
	return passResult("%s, and maxSlotsPerPod is %d", found, s.MaxPerPod)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// describeCounts returns a text like "2 nodes with 8, 1 with 4 nvidia.com/gpu".
func describeCounts(counts map[int]int, resource corev1.ResourceName) string {
	sizes := slices.Sorted(maps.Keys(counts))
	slices.Reverse(sizes)
	parts := make([]string, len(sizes))
	for i, size := range sizes {
		word := ""
		if i == 0 {
			word = " nodes"
			if counts[size] == 1 {
				word = " node"
			}
		}
		parts[i] = fmt.Sprintf("%d%s with %d", counts[size], word, size)
	}
	return strings.Join(parts, ", ") + " " + string(resource)
}

func (w Wanted) checkTaints(ctx context.Context) Result {
	nodes, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return unknownResult(kube.Call{Verb: "list", Resource: "nodes"}, err)
	}
	return judgeTaints(nodes.Items, w.Slots)
}

// judgeTaints checks for GPU nodes with taints that tasks do not tolerate. It makes no calls.
func judgeTaints(nodes []corev1.Node, s Slots) Result {
	with, closed := 0, 0
	keys := make(map[string]bool)
	for _, n := range nodes {
		q := n.Status.Allocatable[s.Resource]
		if q.IsZero() {
			continue
		}
		with++
		t, found := repellingTaint(n, s.Tolerations)
		if !found {
			continue
		}
		closed++
		keys[t.ToString()] = true
	}
	if closed == 0 {
		return passResult("no GPU node has a taint that tasks do not tolerate")
	}
	r := Result{
		Answer: Unknown, Found: fmt.Sprintf("%d of %d GPU nodes have taints that tasks do not tolerate: %s", closed, with, strings.Join(slices.Sorted(maps.Keys(keys)), ", ")),
		Needed: "tolerations for these taints", Fix: "add them to taskContainerDefaults.gpuPodSpec.spec.tolerations, or to the resource pool of these nodes",
	}
	if closed == with {
		r.Answer = Fail
	}
	return r
}

// repellingTaint returns the first taint of a node that keeps tasks away until an administrator
// removes it. It ignores the taints of unhealthy nodes, which are temporary.
func repellingTaint(n corev1.Node, tolerations []corev1.Toleration) (corev1.Taint, bool) {
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule || strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			continue
		}
		tolerated := slices.ContainsFunc(tolerations, func(o corev1.Toleration) bool { return toleratesTaint(o, t) })
		if !tolerated {
			return t, true
		}
	}
	return corev1.Taint{}, false
}

// toleratesTaint implements Kubernetes' rule; an empty key with Exists tolerates all taints.
func toleratesTaint(o corev1.Toleration, t corev1.Taint) bool {
	if o.Effect != "" && o.Effect != t.Effect {
		return false
	}
	if o.Key != "" && o.Key != t.Key {
		return false
	}
	if o.Operator == corev1.TolerationOpExists {
		return true
	}
	return o.Key != "" && o.Value == t.Value
}
