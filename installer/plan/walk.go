package plan

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// ErrNotTried is the outcome of a node that was skipped, because a node it needs failed or the walk
// was cancelled.
var ErrNotTried = errors.New("not tried")

// Node is an item of a Walk.
type Node struct {
	ID    string
	Needs []string
}

// Walk calls visit for each node after those it needs, at most limit at a time, and returns each
// node's error by index. When ctx is cancelled, it starts no further visits and waits for the
// running ones. Nodes must not have cycles or missing needs. Among the nodes that are ready, the
// first in nodes starts first.
func Walk(ctx context.Context, nodes []Node, limit int, visit func(ctx context.Context, i int) error) []error {
	w := newWalk(nodes)
	running := 0
	for {
		for running < limit && ctx.Err() == nil {
			i, ok := w.nextNode()
			if !ok {
				break
			}
			running++
			go func() { w.ended <- outcome{i, visit(ctx, i)} }()
		}
		if running == 0 {
			return w.errs
		}
		o := <-w.ended
		running--
		w.endNode(o)
	}
}

type outcome struct {
	i   int
	err error
}

// walk is owned by the goroutine that runs Walk; the others only send.
type walk struct {
	errs    []error
	waits   []int   // by node: the number of needs that have not succeeded
	needers [][]int // by node: the nodes that wait for it
	ready   []int   // ascending
	ended   chan outcome
}

func newWalk(nodes []Node) *walk {
	w := &walk{
		errs:    make([]error, len(nodes)),
		waits:   make([]int, len(nodes)),
		needers: make([][]int, len(nodes)),
		ended:   make(chan outcome),
	}
	at := make(map[string]int, len(nodes))
	for i, n := range nodes {
		at[n.ID] = i
	}
	for i, n := range nodes {
		w.errs[i] = ErrNotTried
		for _, need := range n.Needs {
			w.waits[i]++
			w.needers[at[need]] = append(w.needers[at[need]], i)
		}
		if w.waits[i] == 0 {
			w.ready = append(w.ready, i)
		}
	}
	return w
}

func (w *walk) nextNode() (int, bool) {
	if len(w.ready) == 0 {
		return 0, false
	}
	i := w.ready[0]
	w.ready = w.ready[1:]
	return i, true
}

func (w *walk) endNode(o outcome) {
	w.errs[o.i] = o.err
	if o.err != nil {
		return // its dependents keep waiting and are never visited
	}
	for _, j := range w.needers[o.i] {
		if w.waits[j]--; w.waits[j] == 0 {
			k, _ := slices.BinarySearch(w.ready, j)
			w.ready = slices.Insert(w.ready, k, j)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
