package pods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/rm"
)

// loop looks whenever something has changed or a time has come, until ctx ends.
func (r *RM) loop(ctx context.Context) error {
	asks := make(askings)
	for {
		began := time.Now()
		next := r.decide(asks, began)
		took := time.Since(began)
		r.meters.decide.Observe(took.Seconds())
		// Resting as long as a pass took leaves half of a processor to the others.
		rest := time.NewTimer(took)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-rest.C:
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		case <-due:
		}
	}
}

// decide is one pass over all queues. It returns when to look again at the latest;
// zero is never.
func (r *RM) decide(asks askings, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.notePass()
	d := gang.Decide(r.scene(asks, now), now)
	r.lessons = d.Lessons
	for _, c := range d.Create {
		r.create(r.allocations[rm.AllocationID(c.Gang)], c, now)
	}
	for _, o := range d.Open {
		r.letGo(r.allocations[rm.AllocationID(o.Gang)], o, now)
	}
	for _, u := range d.Undo {
		if a := r.allocations[rm.AllocationID(u.Gang)]; a != nil {
			r.undo(a, u.Reason, u.Until)
		}
	}
	for _, p := range d.Preempt {
		if a := r.allocations[rm.AllocationID(p.Gang)]; a != nil {
			r.preempt(a, fmt.Sprintf("preempted for %s, whose priority is higher", p.For), now)
		}
	}
	for _, id := range d.Kill {
		if a := r.allocations[rm.AllocationID(id)]; a != nil {
			r.kill(a, rm.CausePreempted, "it did not stop in time after it was preempted")
		}
	}
	for id, why := range d.Waiting {
		if a := r.allocations[rm.AllocationID(id)]; a != nil && a.waits() {
			kind := string(why.Kind)
			if a.trouble != "" {
				kind += ", refused" // what Kubernetes says may come late, and is worth a line of its own
			}
			r.hold(a, kind, why.Text)
		}
	}
	return d.Wake
}

func (r *RM) create(a *allocation, c gang.Create, now time.Time) {
	if a == nil || a.phase != Queued || a.release != nil {
		return
	}
	r.transition(a, Making, now)
	a.attempt++
	a.decided, a.stretched = now, c.Stretch
	r.look(a.Allocation)
}

func (r *RM) letGo(a *allocation, o gang.Open, now time.Time) {
	if a == nil || a.phase != Gated || a.release != nil {
		return
	}
	r.transition(a, Opening, now)
	a.stretched, a.hints = o.Stretch, o.Nodes
	r.look(a.Allocation)
}

// transition moves an allocation whose phase was looked at. RM.mu is held.
func (r *RM) transition(a *allocation, to Phase, now time.Time) {
	if err := a.transition(to, now); err != nil {
		r.cfg.Log.Error("move allocation", "allocation", a.Allocation, "err", err)
	}
}

// scene is the cluster as the decision sees it.
func (r *RM) scene(asks askings, now time.Time) gang.Cluster {
	c := gang.Cluster{Options: r.cfg.Gang, Lessons: r.lessons}
	others := r.watch.others.Load()
	c.Options.NodesKnown, c.Options.OthersKnown = r.watch.nodes.Load() != nil, others != nil && others.all
	c.Nodes = r.nodes(asks)
	// In a fixed order, so that a decision can be understood afterwards.
	for _, id := range slices.Sorted(maps.Keys(r.allocations)) {
		if a := r.allocations[id]; a.phase != Over && a.phase != Undoing && a.pod != nil {
			c.Gangs = append(c.Gangs, r.gang(a, now))
		}
	}
	return c
}

// gang is an allocation as the decision sees it.
func (r *RM) gang(a *allocation, now time.Time) gang.Gang {
	g := gang.Gang{
		ID: gang.ID(a.Allocation), Job: gang.JobID(a.Job), Pods: len(a.containers), Pod: a.pod, Slots: a.Slots, MaxSlots: a.MaxSlots,
		Priority: a.priority, Position: a.job.position().UnixMicro(), Submitted: a.Submitted, Preemptible: a.Preemptible,
		Autoscaled: r.grows(a), State: states[a.phase], Since: a.since, Stretched: a.stretched, Undone: a.tries, NotBefore: a.until, Trouble: a.trouble,
	}
	if a.job.MaxSlots != nil {
		g.MaxSlots = *a.job.MaxSlots
	}
	for _, id := range a.ExcludedAgents {
		g.Exclude = append(g.Exclude, gang.NodeID(id))
	}
	if a.phase == Queued {
		return g
	}
	if a.phase == Running && a.release != nil {
		g.State = gang.Releasing
		if !a.release.Kill {
			g.Deadline = a.release.By
		}
	}
	held, placed := make(map[gang.NodeID]int), 0
	var said []string
	for _, pod := range r.watch.podsOf(a.Allocation, r.jobName(a)) {
		g.Made++
		said = append(said, unschedulable(pod))
		if pod.Spec.NodeName != "" {
			placed++
		}
		if pod.Spec.NodeName == "" || finished(pod) {
			continue
		}
		held[gang.NodeID(pod.Spec.NodeName)]++
		if at := boundAt(pod); g.FirstBound.IsZero() || at.Before(g.FirstBound) {
			g.FirstBound = at
		}
	}
	g.Lacks = gang.Lacking(said...)
	a.noteRefusal(len(g.Lacks) > 0, now)
	g.Refused = a.refused
	if a.phase == Opening && placed == g.Pods {
		g.State, g.Preemptible = gang.Running, false // as soon as its nodes have taken notice
	}
	for _, node := range slices.Sorted(maps.Keys(held)) {
		g.Held = append(g.Held, gang.Held{Node: node, Pods: held[node]})
	}
	return g
}

// noteRefusal notes since when the scheduler refuses a pod. The pod's own condition does
// not say it: it has been unscheduled since it had its gate.
func (a *allocation) noteRefusal(refused bool, now time.Time) {
	switch {
	case !refused:
		a.refused = time.Time{}
	case a.refused.IsZero():
		a.refused = now
	}
}

// grows reports whether nodes are added for an allocation's pool.
func (r *RM) grows(a *allocation) bool {
	p, _ := r.cfg.pool(a.pool)
	return p.Autoscaled
}

// states are the phases in the words of the decision.
var states = map[Phase]gang.State{
	Queued: gang.Queued, Making: gang.Gated, Gated: gang.Gated, Opening: gang.Binding, Running: gang.Running,
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// boundAt is when the scheduler gave a pod its node.
func boundAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// askings remembers what pods ask for: adding that up anew for every pod in every
// pass is most of what a pass costs.
type askings map[types.UID]gang.Resources

// nodes are the nodes with what is taken of them. RM.mu is held.
func (r *RM) nodes(asks askings) []gang.Node {
	all := r.watch.allNodes()
	if len(all) == 0 {
		return nil
	}
	used, own := make(map[string]gang.Resources, len(all)), make(map[string]gang.Resources, len(all))
	add := func(to map[string]gang.Resources, pod *corev1.Pod) {
		if to[pod.Spec.NodeName] == nil {
			to[pod.Spec.NodeName] = make(gang.Resources)
		}
		to[pod.Spec.NodeName].Add(asks[pod.UID])
	}
	seen := make(map[types.UID]bool)
	for _, pod := range r.watch.placed() {
		seen[pod.UID] = true
		asks.of(pod)
		add(used, pod)
		if r.watch.ours(pod) {
			add(own, pod)
		}
	}
	maps.DeleteFunc(asks, func(id types.UID, _ gang.Resources) bool { return !seen[id] })
	out := make([]gang.Node, 0, len(all))
	for _, n := range all {
		taken := used[n.Name]
		if taken == nil {
			taken = make(gang.Resources)
		}
		out = append(out, gang.Node{
			ID: gang.NodeID(n.Name), Labels: n.Labels, Taints: n.Spec.Taints, Allocatable: gang.ResourcesOf(n.Status.Allocatable),
			Used: taken, Own: own[n.Name], Ready: ready(n), Unschedulable: n.Spec.Unschedulable, Disabled: r.switches[rm.AgentID(n.Name)] != "",
		})
	}
	slices.SortFunc(out, func(a, b gang.Node) int { return compare(a.ID, b.ID) })
	return out
}

func compare(a, b gang.NodeID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (a askings) of(pod *corev1.Pod) {
	if _, known := a[pod.UID]; !known {
		a[pod.UID] = gang.RequestsOf(&pod.Spec)
	}
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
