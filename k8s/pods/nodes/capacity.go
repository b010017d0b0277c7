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

// Capacity is what nodes have and what pods take of it, kept up to date by what changes: adding
// all pods up again in every pass costs more than the pass. It implements watch.Changes.
type Capacity struct {
	// mu guards what has changed since Describe was called the last time: pods by UID, nil
	// for one that is gone, whether any node has, and whether the changes say not all.
	mu           sync.Mutex
	pods         map[types.UID]*corev1.Pod
	nodesChanged bool
	unknown      bool

	// What follows belongs to the goroutine that calls Describe.
	taken     map[types.UID]share
	used, own map[string]gang.Resources
	nodes     []gang.Node
}

// share is what a pod takes of its node.
type share struct {
	node string
	own  bool
	of   gang.Resources
}

// NewCapacity knows nothing; Describe reads all the first time.
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

// AllChanged implements watch.Changes. What was noted before is in the list that is read next, or
// is of a pod that is not watched any more, and whose end nothing would tell.
func (c *Capacity) AllChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pods)
	c.unknown = true
}

// Describe lists the nodes with what is taken of them, which holds until the next call. One
// goroutine calls it.
func (c *Capacity) Describe(w *watch.Watch, disabled func(rm.AgentID) bool) []gang.Node {
	c.mu.Lock()
	changed, nodesChanged, unknown := c.pods, c.nodesChanged, c.unknown
	c.pods, c.nodesChanged, c.unknown = make(map[types.UID]*corev1.Pod), false, false
	c.mu.Unlock()
	// What changes from here on is noted for the next call, and may be taken twice.
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

// takePod counts a pod, nil for one that is gone, instead of what was counted of it before.
func (c *Capacity) takePod(w *watch.Watch, id types.UID, pod *corev1.Pod) {
	before, counted := c.taken[id]
	counts := pod != nil && pod.Spec.NodeName != "" && !observe.Finished(pod)
	switch {
	case counted && counts && before.node == pod.Spec.NodeName:
		return // what a pod asks for never grows but by a resize, which tasks' pods do not get
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

// add adds what is asked of a node, times so often.
func add(to map[string]gang.Resources, node string, of gang.Resources, times int64) {
	sum := resourcesAt(to, node)
	for name, n := range of {
		sum[name] += n * times
	}
}

// resourcesAt are those of a node, which stay the same map.
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
	// A node that is gone may come back; its pods are counted until they are gone.
	empty := func(node string, sum gang.Resources) bool { return !seen[node] && sum[corev1.ResourcePods] == 0 }
	maps.DeleteFunc(c.used, empty)
	maps.DeleteFunc(c.own, empty)
}
