package gang

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decide says which gangs get their pods, which are let go, which have to make
// room, which tries are undone, and why the others wait.
//
// Order: priority (99 first), queue position, time.
//
// Placement: all pods of a gang or none, on nodes that are ready, not cordoned,
// not disabled, and allowed by the pods' selectors, affinity and tolerations;
// what all pods of the cluster ask for counts as used. What fits is made behind
// gates (Create) and keeps its room from then on; when all of its pods exist and
// it still fits, the gates are taken away (Open), of no more than Options.Window
// pods before the scheduler has placed those. Where gates can save nothing
// (Options.Ungated) it is made without them when it fits, in the same window.
//
// Who may pass whom: a gang that does not fit does not hold up later ones of its
// own priority. Gangs of lower priority do not start on nodes that it could use,
// if they ask for any resource that it asks for (their places among a node's
// pods do not count): what they take could keep it waiting for ever. With
// preemption on they are back-filled with preemptible gangs, which can be taken
// back. Gangs that wait for something else than room hold up no other: those over
// their job's max_slots, those that pause after a try that was undone, and those
// that could not fit even if the cluster were empty.
//
// So no priority starves another on the nodes that both can use: what is freed
// there goes to the highest that waits. Within one, a large gang may be passed
// by small ones without end; the remedy is a higher priority.
//
// Promises: room of gangs that were asked to stop is held for the first waiting
// gang that fits with it, together with the free room that it needs, so that
// no other gang is asked to stop for it and nothing is started that would have to
// stop at once.
//
// Preemption (if on): victims are preemptible and of lower priority. They are
// tried from the lowest priority and the newest; those not needed are left
// alone, most important first. If all of them together are not enough, none is
// asked.
//
// The scheduler of Kubernetes has the last word, and quotas and webhooks have a
// say before. Where pods of others may not be seen, its refusals are learned from: what
// it has refused is not tried again until something of ours has ended or a while has
// passed (Lesson), and makes room for itself by preemption as if those pods were seen.
// Where nodes are not known, a refusal is the word on pods that ask for as much and no
// more: smaller ones start, no gang is held up, victims are such of which each pod is as
// large as what is asked for, and a try that was undone is followed by a pause.
// A gang of which some pods have a node and others have none, or that
// Kubernetes refuses something, is undone as a whole after Options.Limit and pauses,
// longer each time; one that it has not come to is given Options.ScaleLimit.
func Decide(c Cluster, now time.Time) Decision {
	if !c.Options.NodesKnown {
		c = placesAsNodes(c)
	}
	p := &pass{
		options: c.Options, now: now, board: newBoard(c), held: map[JobID]int{},
		decision: Decision{Waiting: map[ID]Reason{}}, lessons: map[lessonKey]Lesson{},
	}
	if !c.Options.NodesKnown {
		p.board.refused = make([]int64, len(p.board.size))
	}
	p.recallLessons(c.Lessons)
	p.observeGangs(c.Gangs)
	for _, g := range p.queue {
		reason := p.serveGang(g)
		if reason.Kind == "" {
			continue
		}
		switch reason.Kind {
		case ForRoom, ForRelease, ForPriority:
			p.holdGang(g)
		case ForCapacity, ForJobLimit, ForBackOff, ForPods, ForScheduler:
		}
		if g.State == Gated && reason.Kind != ForPods && reason.Kind != ForScheduler && reason.Kind != ForBackOff {
			reason.Text += "; " + p.incompleteReason(g)
		}
		p.decision.Waiting[g.ID] = reason
	}
	slices.Sort(p.decision.Kill)
	p.decision.Lessons = p.sortedLessons()
	return p.decision
}

// pass is one walk through the queue.
type pass struct {
	options  Options
	now      time.Time
	board    *board
	held     map[JobID]int
	decision Decision
	// queue has the queued and the gated gangs and running those that could
	// become victims, both in the order in which they are served.
	queue   []*Gang
	running []*victim
	// unplaced is how many pods the scheduler has and is expected to place, the
	// first of them by next.
	unplaced int
	next     time.Time
	// stretched counts the gangs of one pod that nodes are being added for; whole says
	// that a gang of several is, or is the next.
	stretched int
	whole     bool

	// lessons are what the scheduler's refusals say of nodes.
	lessons map[lessonKey]Lesson

	// waiting are the shapes that wait, by the priority of the first that does.
	waiting []waiting
}

type waiting struct {
	shape    *shape
	priority int
}

// compareGangs orders gangs as they are served; no two are equal.
func compareGangs(a, b *Gang) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(a.Position, b.Position),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.ID, b.ID),
	)
}

// observeGangs sorts the gangs by what they are, and gives those that bind their room.
func (p *pass) observeGangs(gangs []Gang) {
	var binding []*Gang
	for i := range gangs {
		g := &gangs[i]
		if g.State != Queued {
			p.held[g.Job] += g.Slots
			if g.Stretched && (g.State == Gated || g.State == Binding) {
				p.stretchGang(g)
			}
		}
		switch g.State {
		case Queued, Gated:
			p.queue = append(p.queue, g)
		case Binding:
			binding = append(binding, g)
		case Running:
			if g.Preemptible {
				p.running = append(p.running, &victim{Gang: g})
			}
		case Releasing:
			p.board.giveBack(g)
			if !p.isFuture(g.Deadline) && !g.Deadline.IsZero() {
				p.decision.Kill = append(p.decision.Kill, g.ID)
			}
		}
	}
	slices.SortFunc(p.queue, compareGangs)
	slices.SortFunc(binding, compareGangs)
	slices.SortFunc(p.running, func(a, b *victim) int { return compareGangs(a.Gang, b.Gang) })
	for _, g := range binding {
		p.learnLesson(g)
	}
	for _, g := range binding {
		p.bindGang(g)
	}
}

// isFuture reports whether a time is still to come, and has the caller called again then.
func (p *pass) isFuture(at time.Time) bool {
	if !at.After(p.now) {
		return false
	}
	if p.decision.Wake.IsZero() || at.Before(p.decision.Wake) {
		p.decision.Wake = at
	}
	return true
}

// serveGang gives a gang its turn: it is let through, undone, promised room, or told
// why it waits.
func (p *pass) serveGang(g *Gang) Reason {
	limit, _ := p.limitOf(g) // gates always have one
	switch {
	case g.State == Gated && !p.isFuture(limit):
		return p.undoGang(g, p.incompleteReason(g))
	case g.State == Queued && p.isFuture(g.NotBefore):
		return backingOff(g)
	case g.State == Queued && g.MaxSlots > 0 && p.held[g.Job]+g.Slots > g.MaxSlots:
		return overJobLimit(g, p.held[g.Job])
	}
	s := p.board.shapeOf(g)
	if g.State == Gated && g.Stretched {
		return p.admitGang(g, p.findRoom(s, g.Pods, nil), true)
	}
	closed := p.closedTo(g, s)
	if shares := p.findRoom(s, g.Pods, closed); shares != nil {
		return p.admitGang(g, shares, false)
	}
	if p.promiseRoom(s, g, closed) {
		return p.forRelease(g)
	}
	if p.preemptVictims(g, s, closed) && p.promiseRoom(s, g, closed) {
		return p.forRelease(g)
	}
	return p.explainNoRoom(g, s, closed)
}

// explainNoRoom says why a gang has no room, or admits it without.
func (p *pass) explainNoRoom(g *Gang, s *shape, closed []bool) Reason {
	if closed != nil && p.findRoom(s, g.Pods, nil) != nil {
		return p.forPriority(g, s)
	}
	if p.letsGrow(g) {
		return p.admitGang(g, nil, true)
	}
	if !p.board.holdsPods(s, g.Pods) {
		return p.forCapacity(g, s)
	}
	return p.forRoom(g, s)
}

// mostStretched is how many gangs of one pod may wait for new nodes at once: as many
// as a cloud adds together, and few enough to be tried again by importance.
const mostStretched = 16

// letsGrow reports whether a gang is admitted without room, so that nodes are added for
// it. Two gangs of several pods could each hold a part of the new nodes and wait for the
// other; gangs of a single pod cannot.
func (p *pass) letsGrow(g *Gang) bool {
	if !g.Autoscaled || p.whole {
		return false
	}
	if g.Pods > 1 && p.stretched > 0 || p.stretched >= mostStretched {
		p.whole = p.whole || g.Pods > 1 // it is the next, and those behind it wait
		return false
	}
	p.stretchGang(g)
	return true
}

func (p *pass) stretchGang(g *Gang) {
	if g.Pods > 1 {
		p.whole = true
		return
	}
	p.stretched++
}

// admitGang lets a gang through to its next state.
func (p *pass) admitGang(g *Gang, shares []share, stretch bool) Reason {
	if shares != nil {
		p.board.takeRoom(p.board.shapeOf(g), shares)
	}
	switch {
	case g.State == Queued:
		return p.createGang(g, shares, stretch)
	case g.Made < g.Pods:
		return Reason{ForPods, p.incompleteReason(g)}
	case p.windowFull(g):
		return Reason{ForScheduler, fmt.Sprintf("%s made; the scheduler has %s to place before them", formatBeen(g.Pods), formatPods(p.unplaced))}
	}
	p.handOver(g.Pods, p.now)
	p.decision.Open = append(p.decision.Open, Open{Gang: g.ID, Stretch: stretch, Nodes: p.hintsOf(shares)})
	return Reason{ForScheduler, fmt.Sprintf("%s made and handed to the scheduler", formatBeen(g.Pods))}
}

// createGang has the Job of a gang made.
func (p *pass) createGang(g *Gang, shares []share, stretch bool) Reason {
	c := Create{Gang: g.ID, Stretch: stretch}
	if !stretch && p.needsNoGate(g, shares) {
		if p.windowFull(g) {
			return Reason{ForScheduler, fmt.Sprintf("there is room for it; the scheduler has %s to place before", formatPods(p.unplaced))}
		}
		c.Ungated, c.Nodes = true, p.hintsOf(shares)
		p.handOver(g.Pods, p.now)
	}
	p.held[g.Job] += g.Slots
	p.decision.Create = append(p.decision.Create, c)
	return Reason{ForPods, "its pods are being made"}
}

// needsNoGate reports whether a gang whose room was just taken can be left to the scheduler
// from the start. Its pods are alike and share their hints, so that several nodes must be
// full with it: otherwise the scheduler might leave on one of them what another gang was to
// have on the other. One that was undone has gates the next time.
func (p *pass) needsNoGate(g *Gang, shares []share) bool {
	if !p.options.Ungated || len(shares) == 0 || len(shares) > mostHints || g.Undone > 0 {
		return false
	}
	s := p.board.shapeOf(g)
	return len(shares) == 1 || !slices.ContainsFunc(shares, func(sh share) bool {
		return p.board.nodeRoom(p.board.free, s, sh.node, 1) > 0
	})
}

// mostHints is how many nodes the pods of a gang may all be told of.
const mostHints = 32

// windowFull reports whether the scheduler has enough to do before a gang's pods.
func (p *pass) windowFull(g *Gang) bool {
	full := p.options.Window > 0 && p.unplaced > 0 && p.unplaced+g.Pods > p.options.Window
	if full {
		p.isFuture(p.next)
	}
	return full
}

// hintsOf are the nodes of shares, one for each pod; none where nodes are not known.
func (p *pass) hintsOf(shares []share) []NodeID {
	var out []NodeID
	for _, sh := range shares {
		for range sh.pods {
			if p.options.NodesKnown {
				out = append(out, p.board.nodes[sh.node].ID)
			}
		}
	}
	return out
}

// findRoom looks for free room, unless it is known that there is not enough.
func (p *pass) findRoom(s *shape, n int, closed []bool) []share {
	known := &s.unblocked
	if closed != nil {
		known = &s.blocked
	}
	if known.known && n > known.most {
		return nil
	}
	shares := p.board.chooseNodes(p.board.free, s, n, closed)
	if shares == nil {
		*known = bound{known: true, most: p.board.countRoom(p.board.free, s, n, closed)}
	}
	return shares
}

// promiseRoom holds room for g that is partly still being released.
func (p *pass) promiseRoom(s *shape, g *Gang, closed []bool) bool {
	k := &s.soonMost
	if k.known && k.given == p.board.given && g.Pods > k.most {
		return false
	}
	shares := p.board.chooseNodes(p.board.soon, s, g.Pods, closed)
	if shares == nil {
		if closed == nil {
			*k = bound{known: true, given: p.board.given, most: p.board.countRoom(p.board.soon, s, g.Pods, nil)}
		}
		return false
	}
	p.board.promiseRoom(s, shares)
	return true
}

// holdGang keeps lower priorities from the nodes that a waiting gang could use. Where nodes
// are not known it keeps them from nothing: whether it could use any is not known either.
func (p *pass) holdGang(g *Gang) {
	if !p.options.NodesKnown {
		return
	}
	s := p.board.shapeOf(g)
	if !slices.ContainsFunc(p.waiting, func(w waiting) bool { return w.shape == s }) {
		p.waiting = append(p.waiting, waiting{s, g.Priority})
	}
}

// closedTo marks the nodes that g must leave to more important gangs, nil for
// none.
func (p *pass) closedTo(g *Gang, s *shape) []bool {
	if p.options.Preemption && g.Preemptible {
		return nil
	}
	if s.closedAt == g.Priority {
		return s.closed
	}
	s.closedAt, s.closed = g.Priority, nil
	for _, w := range p.waiting {
		if w.priority <= g.Priority || !s.competesWith(w.shape) {
			continue
		}
		if s.closed == nil {
			s.closed = make([]bool, len(p.board.nodes))
		}
		for _, node := range w.shape.nodes {
			s.closed[node] = true
		}
	}
	return s.closed
}

// competesWith reports whether two shapes ask for a common resource other than a
// place among a node's pods, of which there are plenty.
func (s *shape) competesWith(o *shape) bool {
	for name := range s.pod.requests {
		if _, both := o.pod.requests[name]; both && name != "pods" {
			return true
		}
	}
	return false
}
