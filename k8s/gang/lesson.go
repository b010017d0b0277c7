package gang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Lesson is what a refusal of the scheduler says of a node whose other pods may not be
// listed: how much of a resource this cluster's own pods can hold there.
//
// It is learned when a gang was let go, because there seemed to be room, and a pod of
// it was not placed. Others come and go unseen, so it is believed for a while only,
// twice as long each time that it turns out to be still true.
type Lesson struct {
	Node     NodeID
	Resource corev1.ResourceName
	// Most is the amount with which one more of the refused pods would have had room;
	// ours hold less. Sure is what they held at that time, and can hold again.
	Most, Sure int64
	// At is when it was learned the last time, Until when it is no longer believed, and
	// Times how often it was learned in a row.
	At, Until time.Time
	Times     int
}

// inForce reports whether a lesson is believed.
func (l Lesson) inForce(now time.Time) bool { return l.Until.After(now) }

// lessonKey is what a lesson is of.
type lessonKey struct {
	node     NodeID
	resource corev1.ResourceName
}

// recallLessons takes up the lessons that are not disproved, and forgets those that have not
// been learned again for as long as they may be believed.
func (p *pass) recallLessons(lessons []Lesson) {
	for _, l := range lessons {
		if p.seesAll() || !l.Until.Add(p.options.MaxBackOff).After(p.now) {
			continue
		}
		node, known := p.board.index[l.Node]
		// Where nodes are not known, ours hold more as soon as smaller pods find room.
		disproved := !known || p.board.nodes[node].Own[l.Resource] >= l.Most
		switch {
		case disproved && p.options.NodesKnown:
			continue
		case p.isFuture(l.Until) && known:
			p.board.limitFree(node, l)
		}
		p.lessons[lessonKey{l.Node, l.Resource}] = l
	}
}

// seesAll reports whether all that is taken of nodes is known.
func (p *pass) seesAll() bool { return p.options.NodesKnown && p.options.OthersKnown }

// learnLesson concludes from the scheduler's refusal of a gang's pod that no node on which it
// seems to have room has any.
func (p *pass) learnLesson(g *Gang) {
	if !p.wasRefused(g) || g.Stretched {
		return
	}
	s, name := p.board.shapeOf(g), g.lackingResource()
	for _, node := range s.nodes {
		if name == "" || p.board.nodeRoom(p.board.free, s, node, 1) == 0 {
			continue
		}
		n := &p.board.nodes[node]
		key := lessonKey{n.ID, name}
		l := p.lessons[key]
		times := l.Times
		if !l.inForce(p.now) {
			times++
		}
		own := n.Own[name]
		l = Lesson{
			Node: n.ID, Resource: name, Most: own + g.Pod.requests[name], Sure: own,
			At: p.now, Until: p.now.Add(doublePause(p.options.Believe, times-1, p.options.MaxBackOff)), Times: times,
		}
		p.lessons[key] = l
		p.isFuture(l.Until)
		p.board.limitFree(node, l)
	}
}

// wasRefused reports whether the scheduler has refused a pod of a gang for long enough to
// be believed: it may learn of an ended pod a moment later than we do.
func (p *pass) wasRefused(g *Gang) bool {
	return !p.seesAll() && !g.Refused.IsZero() && !p.isFuture(g.Refused.Add(p.options.Settle))
}

// triedInVain reports whether a gang was refused and its other pods have no known room.
func (p *pass) triedInVain(g *Gang) bool {
	left := g.Pods - g.boundPods()
	return p.wasRefused(g) && !g.Stretched && g.lackingResource() != "" && p.board.countRoom(p.board.free, p.board.shapeOf(g), left, nil) < left
}

// lackingResource is the resource of which the scheduler found too little; empty if it
// found enough of all that the pods request.
func (g *Gang) lackingResource() corev1.ResourceName {
	asked := Resources{}
	for _, name := range g.Lacks {
		if n := g.Pod.requests[name]; n > 0 {
			asked[name] = n
		}
	}
	if len(asked) == 0 {
		return ""
	}
	return scarceOf(asked)
}

// refusedAmount is what one of the refused pods requested.
func (l Lesson) refusedAmount() int64 { return l.Most - l.Sure }

// limitFree caps what is free on a node by what others leave.
func (b *board) limitFree(node int, l Lesson) {
	column, asked := b.column[l.Resource]
	if !asked {
		return
	}
	at, own := node*b.width+column, b.nodes[node].Own[l.Resource]
	if b.refused != nil {
		b.refused[at] = l.refusedAmount()
	}
	b.free[at] = min(b.free[at], l.Most-1-own)
	b.soon[at] = min(b.soon[at], b.free[at], l.Sure-own)
	if b.refused != nil {
		b.soon[at] = max(b.soon[at], 0) // what smaller pods hold by now is not where victims are
	}
	b.taken++
}

// lessonText says for how long the scheduler's refusal keeps a shape waiting.
func (p *pass) lessonText(s *shape) string {
	next := p.nextAsked(s)
	if next.IsZero() {
		return ""
	}
	if !p.options.NodesKnown {
		return fmt.Sprintf("; the scheduler has refused as much, and is asked again at %s", next.UTC().Format("15:04:05 UTC"))
	}
	return fmt.Sprintf("; the scheduler has refused more, because others hold the rest, and is asked again at %s", next.UTC().Format("15:04:05 UTC"))
}

// nextAsked is when the first lesson ends that concerns a shape, zero for none.
func (p *pass) nextAsked(s *shape) time.Time {
	var next time.Time
	if len(p.lessons) == 0 {
		return next
	}
	for _, node := range s.nodes {
		for name, amount := range s.pod.requests {
			l := p.lessons[lessonKey{p.board.nodes[node].ID, name}]
			if smaller := !p.options.NodesKnown && amount < l.refusedAmount(); smaller {
				continue
			}
			if l.inForce(p.now) && (next.IsZero() || l.Until.Before(next)) {
				next = l.Until
			}
		}
	}
	return next
}

// sortedLessons are all that are to be kept, in a fixed order.
func (p *pass) sortedLessons() []Lesson {
	return slices.SortedFunc(maps.Values(p.lessons), func(a, b Lesson) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Resource, b.Resource))
	})
}
