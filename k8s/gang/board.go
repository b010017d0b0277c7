package gang

import (
	"cmp"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodes "k8s.io/component-helpers/scheduling/corev1"
)

// board is what each node can give, in the resources that any gang asks for:
// size if nothing ran on it, free now, and soon when what was asked to stop has
// stopped. Each is one row of numbers a node.
type board struct {
	nodes  []Node
	index  map[NodeID]int
	column map[corev1.ResourceName]int
	width  int
	size   []int64
	free   []int64
	soon   []int64
	// refused is the least that one pod asks for to be kept by a lesson from what stands
	// in for nodes that are not known; nil where they are.
	refused []int64

	shapes map[string]*shape
	places map[string][]int
	// taken counts what was taken from free, and given what was added to soon:
	// what was counted before is then out of date.
	taken, given int
}

// shape is a request that several gangs may share: what one pod asks for, and
// the nodes that it may be on.
type shape struct {
	pod   *Pod
	needs []need
	nodes []int
	// scarce is the column by which nodes are compared: the first extended
	// resource, such as GPUs, else CPU, else whatever is asked for.
	scarce int

	// In a decision free room only shrinks, so that a count is a bound for all
	// that come later. unblocked counts all nodes, blocked those that this
	// gang's level may use.
	unblocked, blocked bound
	soonMost           bound
	// noVictims is the least number of pods for which victims were not enough.
	noVictims int
	// closed marks the nodes that are kept for levels above closedAt.
	closed   []bool
	closedAt int
	// current is what could be had when taken was at: for words only.
	current string
	at      int
}

// bound says that no more than most pods fit, once known.
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
	b.soon = slices.Clone(b.free)
	return b
}

// shapeOf finds or makes the shape of a gang.
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

// placesOf lists the nodes that may take new pods of such a kind, in their order.
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
	// A selector that cannot be read matches nothing, for the scheduler too.
	matches, err := p.required.Match(&node)
	return err == nil && matches
}

// scarceOf names what nodes are compared by.
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

// nodeRoom is how many pods of a shape fit on a node, at most most.
func (b *board) nodeRoom(of []int64, s *shape, node, most int) int {
	row := of[node*b.width : (node+1)*b.width]
	for _, n := range s.needs {
		if b.refused != nil && n.amount < b.refused[node*b.width+n.column] {
			continue // of smaller pods nothing was said
		}
		if row[n.column] < n.amount {
			return 0
		}
		most = min(most, int(row[n.column]/n.amount))
	}
	return most
}

// countRoom is how many pods of a shape fit, at most most.
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

// holdsPods reports whether n pods would fit if the cluster were empty.
func (b *board) holdsPods(s *shape, n int) bool { return b.countRoom(b.size, s, n, nil) >= n }

// share is a number of pods on a node.
type share struct{ node, pods int }

// chooseNodes picks nodes for n pods. One pod goes where the least is left of what is
// scarce, so that whole nodes stay free for gangs. Several go to as few nodes as
// take them.
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

// takeRoom uses room that is free now.
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

// promiseRoom holds room that is partly still being released: its free part goes to no
// other gang.
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

// giveBack adds what a gang holds to what will be free soon.
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
