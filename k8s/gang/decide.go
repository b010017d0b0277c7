package gang

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decide decides which gangs get their pods, which are opened, which are preempted and which
// attempts are undone, and returns the reasons why the others wait.
//
// Order: priority (99 first), queue position, time.
//
// Placement: all pods of a gang or none, on nodes that are ready, not cordoned, not disabled, and
// match the pods' selectors, affinity and tolerations. The requests of all pods of the cluster
// count as used. A gang that fits is created behind gates (Create) and keeps its room from then on.
// When all of its pods exist and it still fits, the gates are removed (Open), of at most
// Options.Window pods that the scheduler has not placed. If gates cannot help (Options.Ungated), a
// gang that fits is created without them, in the same window.
//
// Overtaking: a gang that does not fit does not delay later ones of its own priority. Gangs of
// lower priority do not start on nodes that it could use, if they request any resource that it
// requests (except the pod count of a node); otherwise they could keep it waiting forever. With
// preemption, these nodes are back-filled with preemptible gangs. Gangs that wait for something
// other than room delay no other: gangs over their job's max_slots, gangs in the pause after an
// undone attempt, and gangs that would not fit in an empty cluster.
//
// Thus no priority starves another on the nodes that both can use: freed resources go to the
// waiting gang of the highest priority. Within a priority, small gangs may overtake a large one
// indefinitely; the remedy is a higher priority.
//
// Promises: the room of stopping gangs is reserved for the first waiting gang that fits with it,
// together with the free resources that it needs. No other gang is preempted for it, and no gang is
// started that would have to stop immediately.
//
// Preemption (if enabled): victims are preemptible and of lower priority. They are tried from the
// lowest priority and the newest; those not needed are spared, the most important first. If all of
// them are not enough, none is preempted.
//
// A preempted gang that is queued again leaves the room that was made for another one until that has
// started, or Gang.YieldsUntil: otherwise it would take it in a pause of the other one, or while other
// victims stop, and be preempted again.
//
// Kubernetes' scheduler decides the placement, after quotas and webhooks. If other pods are not
// visible, its rejections are recorded as lessons: a rejected placement is not tried again until a
// det-deploy pod has ended or a while has passed (Lesson), and preemption treats the unseen pods as
// known. If nodes are not known, a rejection only applies to pods with the same or larger requests:
// smaller ones start, no gang is delayed, each pod of a victim must be at least as large as the
// requested pod, and an undone attempt is followed by a pause.
//
// A gang of which only some pods have a node, or that Kubernetes rejects, is undone as a whole
// and pauses, longer each time, if the scheduler makes no progress with it for Options.Limit. A gang
// of which Kubernetes has not processed all pods yet gets Options.ScaleLimit.
func Decide(c Cluster, now time.Time) Decision {
	if !c.Options.NodesKnown {
		c = placesAsNodes(c)
	}
	p := &pass{
		options: c.Options, now: now, board: newBoard(c), held: map[JobID]int{},
		unstarted: map[ID]*Gang{},
		decision:  Decision{Waiting: map[ID]Reason{}}, lessons: map[lessonKey]Lesson{},
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
		case ForRoom, ForPriority, ForBackOff:
			p.unstarted[g.ID] = g
		case ForRelease, ForCapacity, ForJobLimit, ForPods, ForScheduler, ForAbsentScheduler:
		}
		switch reason.Kind {
		case ForRoom, ForRelease, ForPriority:
			p.holdGang(g)
		case ForCapacity, ForJobLimit, ForBackOff, ForPods, ForScheduler, ForAbsentScheduler:
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

// pass is one pass through the queue.
type pass struct {
	options  Options
	now      time.Time
	board    *board
	held     map[JobID]int
	decision Decision
	// queue contains queued and gated gangs, running the potential victims. Both are in the order
	// of service.
	queue   []*Gang
	running []*victim
	// unplaced is the number of pods that the scheduler is expected to place, the first of them by
	// next.
	unplaced int
	next     time.Time
	// stretched is the number of single-pod gangs for which nodes are being added. whole is true if
	// nodes are being added for a gang of several pods, or if such a gang is the next.
	stretched int
	whole     bool

	// lessons are the conclusions from the scheduler's rejections.
	lessons map[lessonKey]Lesson

	// waiting contains the waiting shapes with the highest priority of their gangs.
	waiting []waiting
	// unstarted are the gangs that wait for room or pause, and have not been promised any.
	unstarted map[ID]*Gang
}

type waiting struct {
	shape    *shape
	priority int
}

// compareGangs orders gangs by service; no two are equal.
func compareGangs(a, b *Gang) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(a.Position, b.Position),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.ID, b.ID),
	)
}

// observeGangs sorts the gangs by state, and takes the room of binding ones.
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

// isFuture reports whether a time is in the future, and makes the caller decide again at that time.
func (p *pass) isFuture(at time.Time) bool {
	if !at.After(p.now) {
		return false
	}
	if p.decision.Wake.IsZero() || at.Before(p.decision.Wake) {
		p.decision.Wake = at
	}
	return true
}

// serveGang advances or undoes a gang, or promises it room, or returns the reason why it waits.
func (p *pass) serveGang(g *Gang) Reason {
	limit, _ := p.limitOf(g) // a gated gang always has a limit
	switch {
	case g.State == Gated && !p.isFuture(limit):
		return p.undoGang(g, p.incompleteReason(g))
	case g.State == Queued && p.isFuture(g.NotBefore):
		return backingOff(g)
	case g.State == Queued && g.MaxSlots > 0 && p.held[g.Job]+g.Slots > g.MaxSlots:
		return overJobLimit(g, p.held[g.Job])
	}
	if first := p.yieldsTo(g); first != nil {
		return p.serveYielding(g, first)
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

// explainNoRoom returns the reason why a gang has no room, or admits it to trigger autoscaling.
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

// mostStretched is the maximum number of single-pod gangs that wait for new nodes at the same time:
// as many as a cloud adds at once, and few enough that the order follows the priorities.
const mostStretched = 16

// letsGrow reports whether a gang is admitted without room, so that the autoscaler adds nodes. Two
// gangs of several pods could each hold a part of the new nodes and wait for the other; single-pod
// gangs cannot.
func (p *pass) letsGrow(g *Gang) bool {
	if !g.Autoscaled || p.whole {
		return false
	}
	if g.Pods > 1 && p.stretched > 0 || p.stretched >= mostStretched {
		p.whole = p.whole || g.Pods > 1 // it is the next, and later ones wait
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

// admitGang advances a gang to its next state.
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

// createGang creates the Job of a gang.
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

// needsNoGate reports whether a gang whose room was just taken can be created without gates. Its
// pods are identical and share their hints, so if they use several nodes, these must then be full:
// otherwise the scheduler might leave room on one node that another gang was to have on the other.
// A gang that was undone gets gates.
func (p *pass) needsNoGate(g *Gang, shares []share) bool {
	if !p.options.Ungated || len(shares) == 0 || len(shares) > mostHints || g.Undone > 0 {
		return false
	}
	s := p.board.shapeOf(g)
	return len(shares) == 1 || !slices.ContainsFunc(shares, func(sh share) bool {
		return p.board.nodeRoom(p.board.free, s, sh.node, 1) > 0
	})
}

// mostHints is the maximum number of nodes in the hints of a gang without gates.
const mostHints = 32

// windowFull reports whether the scheduler has too many unplaced pods to add a gang's.
func (p *pass) windowFull(g *Gang) bool {
	full := p.options.Window > 0 && p.unplaced > 0 && p.unplaced+g.Pods > p.options.Window
	if full {
		p.isFuture(p.next)
	}
	return full
}

// hintsOf returns the nodes of shares, one per pod, or nil if nodes are not known.
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

// findRoom returns free nodes for n pods, or nil. It uses the cached bound.
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

// promiseRoom reserves room for g, including room that is still being released.
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

// holdGang reserves the nodes that a waiting gang could use against lower priorities. It does
// nothing if nodes are not known, because it is not known either whether the gang could use any.
func (p *pass) holdGang(g *Gang) {
	if !p.options.NodesKnown {
		return
	}
	s := p.board.shapeOf(g)
	if !slices.ContainsFunc(p.waiting, func(w waiting) bool { return w.shape == s }) {
		p.waiting = append(p.waiting, waiting{s, g.Priority})
	}
}

// closedTo marks the nodes reserved for more important gangs than g; nil means none.
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

// competesWith reports whether two shapes request a common resource other than the pod count of a
// node, which is rarely exhausted.
func (s *shape) competesWith(o *shape) bool {
	for name := range s.pod.requests {
		if _, both := o.pod.requests[name]; both && name != "pods" {
			return true
		}
	}
	return false
}
