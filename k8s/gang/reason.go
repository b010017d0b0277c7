package gang

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

func formatPods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func formatTries(n int) string {
	if n == 1 {
		return "1 failed try"
	}
	return fmt.Sprintf("%d failed tries", n)
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
	scheduler := "the scheduler"
	if g.Pod.scheduler != "" {
		scheduler += " " + g.Pod.scheduler
	}
	text := fmt.Sprintf("%s has found a node for %d of its %s", scheduler, g.boundPods(), formatPods(g.Pods))
	if g.Stretched {
		text += ", and nodes may be added for it"
	}
	if g.Autoscaler != "" {
		text += " (" + g.Autoscaler + ")"
	}
	return withReason(text, g.Trouble)
}

// unseenAfter is how long pods may be without the attention of a scheduler that is not Kubernetes' own.
const unseenAfter = 10 * time.Second

// forBinding returns the reason why a gang without gates does not run yet.
func (p *pass) forBinding(g *Gang) Reason {
	if g.Unseen > 0 && g.Pod.scheduler != "" && !p.isFuture(g.Since.Add(unseenAfter)) {
		return Reason{ForAbsentScheduler, fmt.Sprintf("no scheduler has looked at %d of its pods: is there one with the name %s?", g.Unseen, g.Pod.scheduler)}
	}
	return Reason{ForScheduler, p.describePlaced(g)}
}

func backingOff(g *Gang) Reason {
	return Reason{ForBackOff, withReason(fmt.Sprintf("pauses until %s after %s",
		g.NotBefore.UTC().Format("15:04:05 UTC"), formatTries(g.Undone)), g.Trouble)}
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

// describeBest describes the available room: how many pods fit, or which resources no node has enough of.
func (b *board) describeBest(s *shape) string {
	fit := 0
	for _, node := range s.nodes {
		fit += b.nodeRoom(b.free, s, node, math.MaxInt32)
	}
	if fit > 0 {
		return fmt.Sprintf("%d fit now", fit)
	}
	var left []string
	for _, name := range slices.Sorted(maps.Keys(s.pod.requests)) {
		most, measured := b.mostLeft(s, b.column[name])
		switch {
		case most >= s.pod.requests[name]:
		case !measured:
			return "none fits now"
		default:
			left = append(left, formatAmount(name, most))
		}
	}
	if len(left) == 0 {
		return "none fits now, and no node has all of that left"
	}
	return "none fits now, and the most that a node has left is " + strings.Join(left, ", ")
}

// mostLeft returns the largest amount of a resource that is left on a node. It is not measured if a lesson limits
// it: then only the scheduler knows.
func (b *board) mostLeft(s *shape, column int) (most int64, measured bool) {
	measured = true
	for _, node := range s.nodes {
		at := node*b.width + column
		if left := max(b.free[at], 0); left > most || left == most && b.learned[at] {
			most, measured = left, !b.learned[at]
		}
	}
	return most, measured
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
	if lacking := p.board.unknownResources(s); len(lacking) > 0 {
		return Reason{ForCapacity, fmt.Sprintf("%s; no node that it may use has %s", formatNeeds(g), strings.Join(lacking, ", "))}
	}
	n := p.board.countRoom(p.board.size, s, g.Pods, nil)
	return Reason{ForCapacity, fmt.Sprintf("%s; the cluster could hold %d if nothing else ran on it", formatNeeds(g), n)}
}

// unknownResources returns the requested resources that no node of a shape has at all, such as devices without
// their plugin.
func (b *board) unknownResources(s *shape) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.pod.requests)) {
		column := b.column[name]
		if !slices.ContainsFunc(s.nodes, func(node int) bool { return b.size[node*b.width+column] > 0 }) {
			out = append(out, string(name))
		}
	}
	return out
}
