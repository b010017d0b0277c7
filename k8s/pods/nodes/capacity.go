package nodes

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Requests remembers what pods ask for: adding that up again for every pod in every
// pass is most of what a pass costs.
type Requests map[types.UID]gang.Resources

// Describe lists the nodes with what is taken of them. One goroutine calls it.
func (r Requests) Describe(w *watch.Watch, disabled func(rm.AgentID) bool) []gang.Node {
	all := w.Nodes()
	if len(all) == 0 {
		return nil
	}
	used, own := make(map[string]gang.Resources, len(all)), make(map[string]gang.Resources, len(all))
	add := func(to map[string]gang.Resources, pod *corev1.Pod) {
		if to[pod.Spec.NodeName] == nil {
			to[pod.Spec.NodeName] = make(gang.Resources)
		}
		to[pod.Spec.NodeName].Add(r[pod.UID])
	}
	seen := make(map[types.UID]bool)
	for _, pod := range w.PlacedPods() {
		seen[pod.UID] = true
		r.addPod(pod)
		add(used, pod)
		if w.IsOurs(pod) {
			add(own, pod)
		}
	}
	maps.DeleteFunc(r, func(id types.UID, _ gang.Resources) bool { return !seen[id] })
	out := make([]gang.Node, 0, len(all))
	for _, n := range all {
		taken := used[n.Name]
		if taken == nil {
			taken = make(gang.Resources)
		}
		out = append(out, gang.Node{
			ID: gang.NodeID(n.Name), Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: gang.ResourcesOf(n.Status.Allocatable),
			Used: taken, Own: own[n.Name], Ready: observe.NodeReady(n), Unschedulable: n.Spec.Unschedulable, Disabled: disabled(rm.AgentID(n.Name)),
		})
	}
	slices.SortFunc(out, func(a, b gang.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (r Requests) addPod(pod *corev1.Pod) {
	if _, known := r[pod.UID]; !known {
		r[pod.UID] = gang.RequestsOf(&pod.Spec)
	}
}
