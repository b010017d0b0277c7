package gang

import (
	"cmp"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodes "k8s.io/component-helpers/scheduling/corev1"
)

// board holds the resources of each node, for the resource names that any gang requests: size on an
// empty node, free now, and soon after stopping gangs have released theirs. Each is one row of
// numbers per node.
type board struct {
	nodes  []Node
	index  map[NodeID]int
	column map[corev1.ResourceName]int
	width  int
	size   []int64
	free   []int64
	soon   []int64
	// learned marks the amounts of free that a lesson has limited.
	learned []bool
	// refused is the smallest request per pod that a lesson blocks, on a placeholder of unknown
	// nodes; nil if nodes are known.
	refused []int64

	shapes map[string]*shape
	places map[string][]int
	// taken counts changes of free, and given counts additions to soon. Cached counts are stale
	// when they change.
	taken, given int
}

// shape is a request that several gangs may share: the resources of one pod and the nodes that it
// may use.
type shape struct {
	pod   *Pod
	needs []need
	nodes []int
	// scarce is the column by which nodes are compared: the first extended resource, such as GPUs,
	// else CPU, else any requested resource.
	scarce int

	// During a decision free resources only shrink, so a count is an upper bound for later gangs.
	// unblocked counts all nodes, blocked only those that gangs of this priority may use.
	unblocked, blocked bound
	soonMost           bound
	// noVictims is the smallest number of pods for which preempting all victims is not enough.
	noVictims int
	// closed marks the nodes that are reserved for priorities above closedAt.
	closed   []bool
	closedAt int
	// current describes the room when taken was at, for messages.
	current string
	at      int
}

// bound is an upper bound on the number of pods that fit, once known.
type bound struct {
	most, given int
	known       bool
}

type need struct {
	column int
	amount int64
}

func newBoard(c Cluster) *board {
	b := &board{
		nodes: c.Nodes, index: make(map[NodeID]int, len(c.Nodes)), column: map[corev1.ResourceName]int{},
		shapes: map[string]*shape{}, places: map[string][]int{},
	}
	for i := range c.Gangs {
		for name := range c.Gangs[i].Pod.requests {
			if _, known := b.column[name]; !known {
				b.column[name] = len(b.column)
			}
		}
	}
	b.width = len(b.column)
	b.size = make([]int64, len(c.Nodes)*b.width)
	b.free = make([]int64, len(b.size))
	for i, n := range c.Nodes {
		b.index[n.ID] = i
		for name, column := range b.column {
			b.size[i*b.width+column] = n.Allocatable[name]
			b.free[i*b.width+column] = n.Allocatable[name] - n.Used[name]
		}
	}
	b.soon, b.learned = slices.Clone(b.free), make([]bool, len(b.free))
	return b
}

// shapeOf returns the shape of a gang.
func (b *board) shapeOf(g *Gang) *shape {
	key := g.Pod.key
	for _, id := range g.Exclude {
		key += "\x00" + string(id)
	}
	if s, found := b.shapes[key]; found {
		return s
	}
	s := &shape{pod: g.Pod, nodes: b.placesOf(g.Pod), at: -1, closedAt: HighestPriority + 1}
	if len(g.Exclude) > 0 {
		s.nodes = slices.DeleteFunc(slices.Clone(s.nodes), func(i int) bool {
			return slices.Contains(g.Exclude, b.nodes[i].ID)
		})
	}
	for name, amount := range g.Pod.requests {
		s.needs = append(s.needs, need{b.column[name], amount})
	}
	slices.SortFunc(s.needs, func(x, y need) int { return cmp.Compare(x.column, y.column) })
	s.scarce = b.column[scarceOf(g.Pod.requests)]
	b.shapes[key] = s
	return s
}

// placesOf returns the nodes that may take new pods of this kind, in order.
func (b *board) placesOf(p *Pod) []int {
	if out, found := b.places[p.place]; found {
		return out
	}
	out := []int{}
	for i := range b.nodes {
		if n := &b.nodes[i]; n.place == p.place || n.place == "" && n.Ready && !n.Unschedulable && !n.Disabled && p.allowsNode(n) {
			out = append(out, i)
		}
	}
	b.places[p.place] = out
	return out
}

// allowsNode reports whether the scheduler would consider a node for such a pod.
func (p *Pod) allowsNode(n *Node) bool {
	_, untolerated := nodes.FindMatchingUntoleratedTaint(logr.Discard(), n.Taints, p.tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	if untolerated {
		return false
	}
	node := corev1.Node{}
	node.Name, node.Labels = string(n.ID), n.Labels
	// As in the scheduler, an invalid selector matches nothing.
	matches, err := p.required.Match(&node)
	return err == nil && matches
}

// scarceOf returns the resource by which nodes are compared.
func scarceOf(r Resources) corev1.ResourceName {
	best, rank := corev1.ResourcePods, 9
	for name := range r {
		var n int
		switch name {
		case corev1.ResourceCPU:
			n = 1
		case corev1.ResourceMemory:
			n = 2
		case corev1.ResourceEphemeralStorage:
			n = 3
		case corev1.ResourcePods:
			n = 4
		default:
			n = 0
		}
		if n < rank || n == rank && name < best {
			best, rank = name, n
		}
	}
	return best
}

// nodeRoom returns the number of pods of a shape that fit on a node, at most most.
func (b *board) nodeRoom(of []int64, s *shape, node, most int) int {
	row := of[node*b.width : (node+1)*b.width]
	for _, n := range s.needs {
		if b.refused != nil && n.amount < b.refused[node*b.width+n.column] {
			continue // the rejection does not apply to smaller pods
		}
		if row[n.column] < n.amount {
			return 0
		}
		most = min(most, int(row[n.column]/n.amount))
	}
	return most
}

// countRoom returns the number of pods of a shape that fit, at most most.
func (b *board) countRoom(of []int64, s *shape, most int, closed []bool) int {
	total := 0
	for _, node := range s.nodes {
		if closed != nil && closed[node] {
			continue
		}
		if total += b.nodeRoom(of, s, node, most-total); total >= most {
			return most
		}
	}
	return total
}

// holdsPods reports whether n pods would fit in an empty cluster.
func (b *board) holdsPods(s *shape, n int) bool { return b.countRoom(b.size, s, n, nil) >= n }

// share is a number of pods on a node.
type share struct{ node, pods int }

// chooseNodes selects nodes for n pods, or returns nil if they do not fit. A single pod goes to the
// node with the least free scarce resource, so that whole nodes stay free for gangs. Several pods
// go to as few nodes as possible.
func (b *board) chooseNodes(of []int64, s *shape, n int, closed []bool) []share {
	var found []share
	total, best := 0, -1
	for _, node := range s.nodes {
		if closed != nil && closed[node] {
			continue
		}
		room := b.nodeRoom(of, s, node, n)
		if room == 0 {
			continue
		}
		total += room
		if n > 1 {
			found = append(found, share{node, room})
		} else if best < 0 || of[node*b.width+s.scarce] < of[best*b.width+s.scarce] {
			best = node
		}
	}
	switch {
	case total < n:
		return nil
	case n == 1:
		return []share{{best, 1}}
	}
	slices.SortFunc(found, func(x, y share) int {
		return cmp.Or(
			cmp.Compare(y.pods, x.pods),
			cmp.Compare(of[x.node*b.width+s.scarce], of[y.node*b.width+s.scarce]),
			cmp.Compare(x.node, y.node),
		)
	})
	for i := range found {
		found[i].pods = min(found[i].pods, n)
		if n -= found[i].pods; n == 0 {
			return found[:i+1]
		}
	}
	return found
}

// takeRoom uses resources that are free now.
func (b *board) takeRoom(s *shape, shares []share) {
	b.taken++
	for _, sh := range shares {
		for _, n := range s.needs {
			at, amount := sh.node*b.width+n.column, n.amount*int64(sh.pods)
			b.free[at] -= amount
			b.soon[at] -= amount
		}
	}
}

// promiseRoom reserves free resources together with resources that are still being released.
func (b *board) promiseRoom(s *shape, shares []share) {
	b.taken++
	for _, sh := range shares {
		for _, n := range s.needs {
			at, amount := sh.node*b.width+n.column, n.amount*int64(sh.pods)
			b.free[at] -= min(amount, max(b.free[at], 0))
			b.soon[at] -= amount
		}
	}
}

// giveBack adds the resources of a gang to soon.
func (b *board) giveBack(g *Gang) {
	b.given++
	for _, h := range g.Held {
		node, known := b.index[h.Node]
		if !known {
			continue
		}
		for name, amount := range g.Pod.requests {
			b.soon[node*b.width+b.column[name]] += amount * int64(h.Pods)
		}
	}
}
