package gang

import (
	"fmt"
	"math"
)

func formatPods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func formatBeen(n int) string {
	if n == 1 {
		return "its pod has been"
	}
	return fmt.Sprintf("all its %d pods have been", n)
}

// formatNeeds describes the requests of a gang.
func formatNeeds(g *Gang) string {
	return fmt.Sprintf("needs %s of %s", formatPods(g.Pods), g.Pod.formatScarce())
}

func withReason(text, trouble string) string {
	if trouble == "" {
		return text
	}
	return text + ": " + trouble
}

// incompleteReason describes how many pods of a gated gang exist.
func (p *pass) incompleteReason(g *Gang) string {
	if g.Made >= g.Pods {
		return withReason(fmt.Sprintf("its pods (%d) exist, but there is no room left for them", g.Pods), g.Trouble)
	}
	return withReason(fmt.Sprintf("%d of its %s exist", g.Made, formatPods(g.Pods)), g.Trouble)
}

// describePlaced describes how many pods of a gang the scheduler has placed.
func (p *pass) describePlaced(g *Gang) string {
	if g.Made < g.Pods {
		return p.incompleteReason(g) // it has no gates
	}
	text := fmt.Sprintf("the scheduler has found a node for %d of its %s", g.boundPods(), formatPods(g.Pods))
	if g.Stretched {
		text += ", and nodes may be added for it"
	}
	return withReason(text, g.Trouble)
}

func backingOff(g *Gang) Reason {
	return Reason{ForBackOff, withReason(fmt.Sprintf("pauses until %s after %d failed tries",
		g.NotBefore.UTC().Format("15:04:05 UTC"), g.Undone), g.Trouble)}
}

func overJobLimit(g *Gang, held int) Reason {
	return Reason{ForJobLimit, fmt.Sprintf("needs %d slots; its job has %d of max_slots %d", g.Slots, held, g.MaxSlots)}
}

func (p *pass) forRoom(g *Gang, s *shape) Reason {
	if s.at != p.board.taken {
		s.current, s.at = p.describeRoom(s)+p.lessonText(s), p.board.taken
	}
	return Reason{ForRoom, formatNeeds(g) + "; " + s.current}
}

// describeRoom describes the available room, as far as it is known.
func (p *pass) describeRoom(s *shape) string {
	if !p.options.NodesKnown {
		return "no room for them is known"
	}
	return p.board.describeBest(s)
}

// describeBest describes the available room.
func (b *board) describeBest(s *shape) string {
	var most int64
	fit := 0
	for _, node := range s.nodes {
		fit += b.nodeRoom(b.free, s, node, math.MaxInt32)
		most = max(most, b.free[node*b.width+s.scarce])
	}
	if fit > 0 {
		return fmt.Sprintf("%d fit now", fit)
	}
	name := scarceOf(s.pod.requests)
	return fmt.Sprintf("none fits now, and the most that a node has left is %s %s", formatQuantity(name, most), name)
}

func (p *pass) forRelease(g *Gang) Reason {
	return Reason{ForRelease, formatNeeds(g) + "; room is being released for it"}
}

func (p *pass) forPriority(g *Gang, s *shape) Reason {
	best := 0
	for _, w := range p.waiting {
		if w.priority > g.Priority && s.competesWith(w.shape) {
			best = max(best, w.priority)
		}
	}
	return Reason{ForPriority, fmt.Sprintf("%s; a task of priority %d waits for the same nodes (its own is %d)", formatNeeds(g), best, g.Priority)}
}

func (p *pass) forCapacity(g *Gang, s *shape) Reason {
	if len(s.nodes) == 0 {
		return Reason{ForCapacity, fmt.Sprintf("%s; none of the %d nodes is ready, enabled and allowed by its selectors and tolerations",
			formatNeeds(g), len(p.board.nodes))}
	}
	n := p.board.countRoom(p.board.size, s, g.Pods, nil)
	return Reason{ForCapacity, fmt.Sprintf("%s; the cluster could hold %d if nothing else ran on it", formatNeeds(g), n)}
}
