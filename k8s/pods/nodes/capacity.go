package nodes

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Capacity tracks the resources of nodes and the requests of pods. It is updated incrementally,
// because summing all pods in every pass costs more than the pass. It implements watch.Changes.
type Capacity struct {
	// mu guards the changes since the last call of Describe: pods by UID, nil for a deleted one;
	// whether any node has changed; and whether the changes are incomplete.
	mu           sync.Mutex
	pods         map[types.UID]*corev1.Pod
	nodesChanged bool
	unknown      bool

	// The fields below are only used by the goroutine that calls Describe.
	taken     map[types.UID]share
	used, own map[string]gang.Resources
	nodes     []gang.Node
}

// share is the usage of a pod on its node.
type share struct {
	node string
	own  bool
	of   gang.Resources
}

// NewCapacity returns an empty Capacity; the first call of Describe reads everything.
func NewCapacity() *Capacity {
	return &Capacity{pods: make(map[types.UID]*corev1.Pod), unknown: true}
}

// PodChanged implements watch.Changes.
func (c *Capacity) PodChanged(pod *corev1.Pod) { c.notePod(pod.UID, pod) }

// PodGone implements watch.Changes.
func (c *Capacity) PodGone(pod *corev1.Pod) { c.notePod(pod.UID, nil) }

func (c *Capacity) notePod(id types.UID, pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[id] = pod
}

// NodesChanged implements watch.Changes.
func (c *Capacity) NodesChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodesChanged = true
}

// AllChanged implements watch.Changes. It drops earlier changes: they are included in the next
// complete list, or belong to pods that are no longer watched and whose end would not be reported.
func (c *Capacity) AllChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pods)
	c.unknown = true
}

// Describe returns the nodes and their usage, which are valid until the next call. Only one
// goroutine may call it.
func (c *Capacity) Describe(w *watch.Watch, disabled func(rm.AgentID) bool) []gang.Node {
	c.mu.Lock()
	changed, nodesChanged, unknown := c.pods, c.nodesChanged, c.unknown
	c.pods, c.nodesChanged, c.unknown = make(map[types.UID]*corev1.Pod), false, false
	c.mu.Unlock()
	// Later changes are recorded for the next call, and may be applied twice.
	if unknown {
		c.taken, c.used, c.own = make(map[types.UID]share), make(map[string]gang.Resources), make(map[string]gang.Resources)
		for _, pod := range w.PlacedPods() {
			c.takePod(w, pod.UID, pod)
		}
	}
	for id, pod := range changed {
		c.takePod(w, id, pod)
	}
	if unknown || nodesChanged {
		c.listNodes(w)
	}
	for i := range c.nodes {
		c.nodes[i].Disabled = disabled(rm.AgentID(c.nodes[i].ID))
	}
	return c.nodes
}

// takePod replaces the counted usage of a pod. pod is nil for a deleted one.
func (c *Capacity) takePod(w *watch.Watch, id types.UID, pod *corev1.Pod) {
	before, counted := c.taken[id]
	counts := pod != nil && pod.Spec.NodeName != "" && !observe.Finished(pod)
	switch {
	case counted && counts && before.node == pod.Spec.NodeName:
		return // requests only change by a resize, which tasks' pods do not get
	case counted:
		add(c.used, before.node, before.of, -1)
		if before.own {
			add(c.own, before.node, before.of, -1)
		}
		delete(c.taken, id)
	}
	if !counts {
		return
	}
	now := share{node: pod.Spec.NodeName, own: w.IsOurs(pod), of: gang.RequestsOf(&pod.Spec)}
	c.taken[id] = now
	add(c.used, now.node, now.of, 1)
	if now.own {
		add(c.own, now.node, now.of, 1)
	}
}

// add adds the resources to a node, multiplied by times.
func add(to map[string]gang.Resources, node string, of gang.Resources, times int64) {
	sum := resourcesAt(to, node)
	for name, n := range of {
		sum[name] += n * times
	}
}

// resourcesAt returns the resources of a node. The map is created once, so that references stay
// valid.
func resourcesAt(of map[string]gang.Resources, node string) gang.Resources {
	if of[node] == nil {
		of[node] = make(gang.Resources)
	}
	return of[node]
}

// listNodes reads all nodes again.
func (c *Capacity) listNodes(w *watch.Watch) {
	c.nodes = nil
	seen := make(map[string]bool)
	for _, n := range w.Nodes() {
		seen[n.Name] = true
		c.nodes = append(c.nodes, gang.Node{
			ID: gang.NodeID(n.Name), Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: gang.ResourcesOf(n.Status.Allocatable),
			Used: resourcesAt(c.used, n.Name), Own: resourcesAt(c.own, n.Name), Ready: observe.NodeReady(n), Unschedulable: n.Spec.Unschedulable,
		})
	}
	slices.SortFunc(c.nodes, func(a, b gang.Node) int { return cmp.Compare(a.ID, b.ID) })
	// A deleted node may be added again, so its pods are counted until they are deleted.
	empty := func(node string, sum gang.Resources) bool { return !seen[node] && sum[corev1.ResourcePods] == 0 }
	maps.DeleteFunc(c.used, empty)
	maps.DeleteFunc(c.own, empty)
}
