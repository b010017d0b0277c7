package gang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Lesson is a conclusion from a rejection of the scheduler about a node whose other pods cannot be
// listed: an upper bound on how much of a resource this cluster's own pods can hold there.
//
// It is recorded when a gang was opened because there seemed to be room, and one of its pods was
// not placed. Other pods change unseen, so a lesson is valid for a limited time, which doubles each
// time that it proves true.
type Lesson struct {
	Node     NodeID
	Resource corev1.ResourceName
	// Most is the amount with which one more rejected pod would have fit; det-deploy's pods hold
	// less. Sure is the amount that they held at that time, and can hold again.
	Most, Sure int64
	// Least is the smallest Most of the last hour that was not disproved, and LeastAt its time. Room
	// from which others would have to be preempted is only expected below it, so that they are not
	// preempted over and over in vain.
	Least   int64
	LeastAt time.Time
	// At is the time of the latest rejection, Until the end of validity, and Times the number of
	// consecutive rejections.
	At, Until time.Time
	Times     int
}

// leastHolds is how long Lesson.Least is remembered.
const leastHolds = time.Hour

// inForce reports whether a lesson is valid.
func (l Lesson) inForce(now time.Time) bool { return l.Until.After(now) }

// lessonKey identifies a lesson.
type lessonKey struct {
	node     NodeID
	resource corev1.ResourceName
}

// recallLessons restores the lessons that are not disproved. It drops lessons that were not
// confirmed within MaxBackOff after their end.
func (p *pass) recallLessons(lessons []Lesson) {
	for _, l := range lessons {
		if p.seesAll() || !l.Until.Add(p.options.MaxBackOff).After(p.now) {
			continue
		}
		node, known := p.board.index[l.Node]
		// If nodes are not known, the own usage grows as soon as smaller pods are placed.
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

// seesAll reports whether all usage of nodes is visible.
func (p *pass) seesAll() bool { return p.options.NodesKnown && p.options.OthersKnown }

// learnLesson records, for a rejected pod of a gang, that no node on which it seemed to fit has
// room for it.
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
		most := own + g.Pod.requests[name]
		least, leastAt := most, p.now
		if l.Least > own && l.Least < most && l.LeastAt.Add(leastHolds).After(p.now) {
			least, leastAt = l.Least, l.LeastAt
		}
		l = Lesson{
			Node: n.ID, Resource: name, Most: most, Sure: own, Least: least, LeastAt: leastAt,
			At: p.now, Until: p.now.Add(doublePause(p.options.Believe, times-1, p.options.MaxBackOff)), Times: times,
		}
		p.lessons[key] = l
		p.isFuture(l.Until)
		p.board.limitFree(node, l)
	}
}

// wasRefused reports whether a pod of a gang has been unschedulable for longer than Settle: the
// scheduler may learn of an ended pod a moment later than this package.
func (p *pass) wasRefused(g *Gang) bool {
	return !p.seesAll() && !g.Refused.IsZero() && !p.isFuture(g.Refused.Add(p.options.Settle))
}

// triedInVain reports whether a gang was rejected and its remaining pods have no known room.
func (p *pass) triedInVain(g *Gang) bool {
	left := g.Pods - g.boundPods()
	return p.wasRefused(g) && !g.Stretched && g.lackingResource() != "" && p.board.countRoom(p.board.free, p.board.shapeOf(g), left, nil) < left
}

// lackingResource returns the insufficient resource, or "" if none of the requested resources is.
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

// refusedAmount returns the request of a rejected pod.
func (l Lesson) refusedAmount() int64 { return l.Most - l.Sure }

// limitFree limits the free resources of a node according to a lesson.
func (b *board) limitFree(node int, l Lesson) {
	column, asked := b.column[l.Resource]
	if !asked {
		return
	}
	at, own := node*b.width+column, b.nodes[node].Own[l.Resource]
	if b.refused != nil {
		b.refused[at] = l.refusedAmount()
	}
	if most := l.Most - 1 - own; most < b.free[at] {
		b.free[at], b.learned[at] = most, true
	}
	if b.refused == nil {
		b.soon[at] = min(b.soon[at], b.free[at], l.Least-1-own)
	} else {
		// It is not known on which nodes victims are: they free no more than what they hold. Resources
		// of smaller pods do not reduce their room.
		b.soon[at] = max(min(b.soon[at], b.free[at], l.Sure-own), 0)
	}
	b.taken++
}

// lessonText describes when a rejected shape is tried again, or returns "".
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

// nextAsked returns the end of the first lesson about a shape, or zero.
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

// sortedLessons returns the lessons to keep, in a fixed order.
func (p *pass) sortedLessons() []Lesson {
	return slices.SortedFunc(maps.Values(p.lessons), func(a, b Lesson) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Resource, b.Resource))
	})
}
