package pods

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/rm"
)

// scheduler decides which allocations run: one goroutine that uses the caches of the watches.
type scheduler struct {
	state    *state
	options  gang.Options
	capacity *nodes.Capacity
	pace     pace
	// lessons are the conclusions from the scheduler's rejections.
	lessons []gang.Lesson
	// madeRoom are the allocations for which tasks were preempted that may be queued again.
	madeRoom map[rm.TaskID]madeRoom
	// gangs is the slice of the previous pass, reused because no decision keeps it.
	gangs []gang.Gang
}

// madeRoom is an allocation for which a task was preempted, and the time until which it is left the room.
type madeRoom struct {
	of    rm.AllocationID
	until time.Time
}

func newScheduler(s *state) *scheduler {
	return &scheduler{state: s, options: s.cfg.Gang, capacity: s.capacity, madeRoom: make(map[rm.TaskID]madeRoom)}
}

// forgetRoom forgets the room of allocations that have started or ended, or have had time enough.
func (s *scheduler) forgetRoom(now time.Time) {
	maps.DeleteFunc(s.madeRoom, func(_ rm.TaskID, m madeRoom) bool {
		a := s.state.allocations[m.of]
		return a == nil || a.phase == Running || a.phase == Over || !m.until.After(now)
	})
}

// decideQueues makes one pass over all queues. It returns the time of the next pass at the latest;
// zero means never.
func (s *scheduler) decideQueues(now time.Time) time.Time {
	defer func(began time.Time) { s.state.metrics.decide.Observe(time.Since(began).Seconds()) }(time.Now())
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	d := gang.Decide(s.snapshotCluster(now), now)
	s.lessons = d.Lessons
	for _, c := range d.Create {
		s.createGang(s.state.allocations[rm.AllocationID(c.Gang)], c, now)
	}
	for _, o := range d.Open {
		s.openGang(s.state.allocations[rm.AllocationID(o.Gang)], o, now)
	}
	for _, u := range d.Undo {
		if a := s.state.allocations[rm.AllocationID(u.Gang)]; a != nil {
			s.state.undoAttempt(a, u.Reason, u.Until)
		}
	}
	for _, p := range d.Preempt {
		if a := s.state.allocations[rm.AllocationID(p.Gang)]; a != nil {
			s.state.preemptAllocation(a, "preempted for "+s.describeTask(p.For)+", whose priority is higher", now)
			// The longest pause between two attempts of the other one.
			s.madeRoom[a.Task] = madeRoom{rm.AllocationID(p.For), now.Add(s.options.MaxBackOff)}
		}
	}
	for _, id := range d.Kill {
		if a := s.state.allocations[rm.AllocationID(id)]; a != nil {
			s.state.killAllocation(a, rm.CausePreempted, "it did not stop in time after it was preempted")
		}
	}
	for id, why := range d.Waiting {
		if a := s.state.allocations[rm.AllocationID(id)]; a != nil && a.isWaiting() {
			kind := string(why.Kind)
			if a.trouble != "" {
				kind += ", refused" // an error of Kubernetes may come later, and is reported separately
			}
			if a.scaling != nil {
				kind += ", " + a.scaling.Reason
			}
			s.state.setWaiting(a, kind, why.Text)
		}
	}
	return d.Wake
}

// describeTask returns the task of a gang for people.
func (s *scheduler) describeTask(id gang.ID) string {
	if a := s.state.allocations[rm.AllocationID(id)]; a != nil {
		return a.Describe()
	}
	return string(id)
}

func (s *scheduler) createGang(a *allocation, c gang.Create, now time.Time) {
	if a == nil || a.phase != Queued || a.release != nil {
		return
	}
	s.state.setPhase(a, Making, now)
	a.attempt++
	a.decided, a.stretched, a.ungated, a.hints = now, c.Stretch, c.Ungated, c.Nodes
	s.state.enqueueAllocation(a.Allocation)
}

func (s *scheduler) openGang(a *allocation, o gang.Open, now time.Time) {
	if a == nil || a.phase != Gated || a.release != nil {
		return
	}
	s.state.setPhase(a, Opening, now)
	a.stretched, a.hints = o.Stretch, o.Nodes
	s.state.enqueueAllocation(a.Allocation)
}

// snapshotCluster returns the input of a decision.
func (s *scheduler) snapshotCluster(now time.Time) gang.Cluster {
	c := gang.Cluster{Options: s.options, Lessons: s.lessons, Gangs: slices.Grow(s.gangs[:0], len(s.state.allocations))}
	w := s.state.watch
	c.Options.NodesKnown, c.Options.OthersKnown = w.NodesKnown(), w.OthersKnown()
	c.Options.Ungated = w.NodesKnown() && w.OthersKnown() && w.NoQuota()
	c.Nodes = s.capacity.Describe(w, func(id rm.AgentID) bool { return s.state.switches[id] != "" })
	s.lookAgain(now)
	s.forgetRoom(now)
	if c.Options.Window > 0 {
		c.Options.Window = max(c.Options.Window, gang.WindowAt(s.pace.perSecond()))
	}
	// In a fixed order, so that decisions are reproducible.
	for _, id := range slices.Sorted(maps.Keys(s.state.allocations)) {
		if a := s.state.allocations[id]; a.phase != Over && a.phase != Undoing && a.pod != nil {
			c.Gangs = append(c.Gangs, s.describeGang(a, now))
		}
	}
	clear(c.Gangs[len(c.Gangs):cap(c.Gangs)]) // release ended gangs to the garbage collector
	s.gangs = c.Gangs
	return c
}

// lookAgain summarizes the pods of the allocations whose pods have changed.
func (s *scheduler) lookAgain(now time.Time) {
	placed := 0
	for id := range s.state.changed.take() {
		a := s.state.allocations[id]
		if a == nil || a.phase == Queued {
			continue
		}
		before := a.podStats
		a.notePods(s.state.watch.PodsOf(id, a.jobName()), now)
		if before != nil && before.attempt == a.attempt {
			placed += max(a.podStats.placed-before.placed, 0)
		}
	}
	s.pace.note(placed, now)
}

// describeGang converts an allocation for the decision.
func (s *scheduler) describeGang(a *allocation, now time.Time) gang.Gang {
	g := gang.Gang{
		ID: gang.ID(a.Allocation), Job: gang.JobID(a.Job), Pods: len(a.containers), Pod: a.pod, Slots: a.Slots, MaxSlots: a.SlotLimit(),
		Priority: a.Priority, Position: int64(a.Parent.Position()), Submitted: a.Submitted, Preemptible: a.Preemptible,
		Autoscaled: s.state.cfg.isAutoscaled(a), State: states[a.phase], Since: a.since, Stretched: a.stretched, Ungated: a.ungated, Undone: a.tries, NotBefore: a.until, Trouble: a.trouble,
	}
	for _, id := range a.ExcludedAgents {
		g.Exclude = append(g.Exclude, gang.NodeID(id))
	}
	if a.phase == Queued {
		m := s.madeRoom[a.Task]
		g.Yields, g.YieldsUntil = gang.ID(m.of), m.until
		g.Trouble = a.undone
		return g
	}
	if a.scaling != nil {
		g.Autoscaler = watch.Describe(a.scaling)
	}
	if a.phase == Making && a.ungated {
		g.State = gang.Binding
	}
	if a.phase == Running && a.release != nil {
		g.State = gang.Releasing
		if !a.release.Kill {
			g.Deadline = a.release.By
		}
	}
	if a.podStats == nil || a.podStats.attempt != a.attempt {
		a.notePods(s.state.watch.PodsOf(a.Allocation, a.jobName()), now)
	}
	g.Made, g.Held, g.Progress, g.Lacks, g.Unseen = a.podStats.made, a.podStats.held, a.podStats.progress, a.podStats.lacks, a.podStats.unseen
	a.noteRefusal(len(g.Lacks) > 0, now)
	g.Refused = a.refused
	if g.State == gang.Binding && a.podStats.placed == g.Pods {
		g.State, g.Preemptible = gang.Running, false // preemptible as soon as its nodes have accepted the pods
	}
	return g
}

// states maps phases to states of the decision.
var states = map[Phase]gang.State{
	Queued: gang.Queued, Making: gang.Gated, Gated: gang.Gated, Opening: gang.Binding, Running: gang.Running,
}

// podStats summarizes the pods of one attempt of an allocation. It is valid until one of them
// changes.
type podStats struct {
	attempt int
	// made, placed and rejected are the numbers of pods that exist, that have a node, and for which
	// the scheduler has found none. unseen is the number of those that no scheduler has looked at.
	made, placed, rejected, unseen int
	held                           []gang.Held
	lacks                          []corev1.ResourceName
	// progress is the time at which placed or rejected last grew.
	progress time.Time
}

// notePods summarizes the pods of the current attempt.
func (a *allocation) notePods(pods map[int]*corev1.Pod, now time.Time) {
	before, s := a.podStats, statsOf(a.attempt, pods)
	switch {
	case before == nil || before.attempt != s.attempt:
		if s.progress = latestBound(pods); s.rejected > 0 {
			s.progress = now // the condition of a pod does not contain when it was rejected
		}
	case s.placed > before.placed || s.rejected > before.rejected:
		s.progress = now
	default:
		s.progress = before.progress
	}
	a.podStats = s
}

// latestBound returns the time at which the scheduler last bound one of the pods, or zero.
func latestBound(pods map[int]*corev1.Pod) time.Time {
	var last time.Time
	for _, pod := range pods {
		if at := observe.BoundAt(pod); pod.Spec.NodeName != "" && at.After(last) {
			last = at
		}
	}
	return last
}

// statsOf summarizes the pods of an attempt.
func statsOf(attempt int, pods map[int]*corev1.Pod) *podStats {
	s := &podStats{attempt: attempt, made: len(pods)}
	held := make(map[gang.NodeID]int)
	var said []string
	for _, pod := range pods {
		why := observe.Unschedulable(pod)
		said = append(said, why)
		switch {
		case why != "":
			s.rejected++
		case observe.Unseen(pod):
			s.unseen++
		}
		if pod.Spec.NodeName != "" {
			s.placed++
		}
		if pod.Spec.NodeName == "" || observe.Finished(pod) {
			continue
		}
		held[gang.NodeID(pod.Spec.NodeName)]++
	}
	s.lacks = gang.Lacking(said...)
	for _, node := range slices.Sorted(maps.Keys(held)) {
		s.held = append(s.held, gang.Held{Node: node, Pods: held[node]})
	}
	return s
}

// changedPods contains the allocations whose pods have changed since the last call of take.
type changedPods struct {
	mu  sync.Mutex // guards ids
	ids map[rm.AllocationID]bool
}

func (c *changedPods) note(id rm.AllocationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = make(map[rm.AllocationID]bool)
	}
	c.ids[id] = true
}

func (c *changedPods) take() map[rm.AllocationID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.ids
	c.ids = nil
	return out
}

// pace measures how many pods the cluster's scheduler has placed recently.
type pace struct{ placed []placing }

type placing struct {
	at   time.Time
	pods int
}

// paceSpan is the duration over which the pace is measured.
const paceSpan = 5 * time.Second

func (p *pace) note(pods int, now time.Time) {
	if pods > 0 {
		p.placed = append(p.placed, placing{now, pods})
	}
	old := slices.IndexFunc(p.placed, func(one placing) bool { return now.Sub(one.at) < paceSpan })
	if old < 0 {
		old = len(p.placed)
	}
	p.placed = slices.Delete(p.placed, 0, old)
}

// perSecond returns the rate. Before a whole span has passed it is too low, never too high.
func (p *pace) perSecond() float64 {
	sum := 0
	for _, one := range p.placed {
		sum += one.pods
	}
	return float64(sum) / paceSpan.Seconds()
}
