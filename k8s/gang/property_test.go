package gang

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// scene generates an arbitrary cluster.
func scene(t *rapid.T, pods []*Pod) Cluster {
	c := Cluster{Options: DefaultOptions()}
	c.Options.Preemption = rapid.Bool().Draw(t, "preemption")
	autoscaled := rapid.Bool().Draw(t, "autoscaled")
	c.Options.NodesKnown = rapid.IntRange(0, 9).Draw(t, "known") > 0
	c.Options.Ungated = c.Options.NodesKnown && rapid.Bool().Draw(t, "ungated")
	c.Options.Window = rapid.SampledFrom([]int{0, 2, 200}).Draw(t, "window")
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		n := gpus(NodeID(fmt.Sprintf("n%d", i)), int64(rapid.SampledFrom([]int{0, 4, 8}).Draw(t, "gpus")), 0)
		n.Used = Resources{}
		n.Ready = rapid.IntRange(0, 9).Draw(t, "ready") > 0
		n.Disabled = rapid.IntRange(0, 9).Draw(t, "disabled") == 0
		n.Labels["half"] = fmt.Sprint(i % 2)
		c.Nodes = append(c.Nodes, n)
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "gangs") {
		g := Gang{
			ID: ID(fmt.Sprintf("g%02d", i)), Job: JobID(fmt.Sprintf("j%d", i%5)),
			Pods: rapid.IntRange(1, 4).Draw(t, "pods"), Pod: rapid.SampledFrom(pods).Draw(t, "pod"),
			Priority: rapid.SampledFrom([]int{10, 50, 90}).Draw(t, "priority"), Submitted: epoch().Add(time.Duration(i)),
			Preemptible: rapid.Bool().Draw(t, "preemptible"), Slots: 1, Autoscaled: autoscaled && i%4 != 0,
			MaxSlots: rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "max"),
			State:    rapid.SampledFrom([]State{Queued, Queued, Gated, Binding, Running, Releasing}).Draw(t, "state"),
			Since:    epoch().Add(-time.Duration(rapid.IntRange(0, 40).Draw(t, "since")) * time.Second),
			Undone:   rapid.IntRange(0, 3).Draw(t, "undone"),
			Trouble:  rapid.SampledFrom([]string{"", "quota"}).Draw(t, "trouble"),
		}
		if g.State == Gated {
			g.Made = rapid.IntRange(0, g.Pods).Draw(t, "made")
		}
		if g.State == Binding || g.State == Running || g.State == Releasing {
			hold(t, &c, &g)
			g.Ungated = rapid.Bool().Draw(t, "made without gates")
		}
		if g.State == Queued && rapid.IntRange(0, 5).Draw(t, "pausing") == 0 {
			g.NotBefore = epoch().Add(time.Minute)
		}
		c.Gangs = append(c.Gangs, g)
	}
	return c
}

// hold binds some of a gang's pods, as far as they fit.
func hold(t *rapid.T, c *Cluster, g *Gang) {
	want := g.Pods
	if g.State == Binding {
		want = rapid.IntRange(0, g.Pods-1).Draw(t, "bound")
	}
	for range want {
		for i := range c.Nodes {
			n := &c.Nodes[i]
			if !fitsOn(n, g.Pod, n.Used) {
				continue
			}
			n.Used.Add(g.Pod.requests)
			g.Held = append(g.Held, Held{Node: n.ID, Pods: 1})
			g.Progress = g.Since
			break
		}
	}
	if g.State == Running && g.boundPods() < g.Pods {
		g.State = Binding
	}
}

func fitsOn(n *Node, p *Pod, used Resources) bool {
	if !n.Ready || n.Unschedulable || n.Disabled || !p.allowsNode(n) {
		return false
	}
	for name, amount := range p.requests {
		if n.Allocatable[name]-used[name] < amount {
			return false
		}
	}
	return true
}

func shapes(t testing.TB) []*Pod {
	half := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"half": "1"} }
	return []*Pod{pod(t, gpuSpec(8)), pod(t, gpuSpec(4)), pod(t, gpuSpec(1)), pod(t, gpuSpec(0)), pod(t, gpuSpec(4, half))}
}

func TestEveryDecisionKeepsTheRules(t *testing.T) {
	t.Parallel()
	pods := shapes(t)
	rapid.Check(t, func(t *rapid.T) {
		c := scene(t, pods)
		d := Decide(c, epoch())
		gangs := map[ID]*Gang{}
		for i := range c.Gangs {
			gangs[c.Gangs[i].ID] = &c.Gangs[i]
		}
		noMoreThanThereIs(t, c, d, gangs)
		inTime(t, c, d, gangs)
		inOrder(t, c, d, gangs)
		victimsAreLess(t, c, d, gangs)
		for _, g := range c.Gangs {
			_, told := d.Waiting[g.ID]
			if waits := g.State == Queued || g.State == Gated || g.State == Binding; waits != told {
				t.Fatalf("%s is %s, and told why it waits: %v", g.ID, g.State, told)
			}
		}
		again := Decide(c, epoch())
		if fmt.Sprint(again) != fmt.Sprint(d) {
			t.Fatalf("asked twice it answers\n%v and\n%v", d, again)
		}
	})
}

// noMoreThanThereIs checks that opened gangs fit on the nodes of their hints.
func noMoreThanThereIs(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang) {
	used := map[NodeID]Resources{}
	for _, n := range c.Nodes {
		used[n.ID] = maps.Clone(n.Used)
	}
	for _, o := range d.Open {
		g := gangs[o.Gang]
		if g.State != Gated || g.Made < g.Pods {
			t.Fatalf("%s is let go and is %s with %d of %d pods", g.ID, g.State, g.Made, g.Pods)
		}
		if !c.Options.NodesKnown || o.Stretch && len(o.Nodes) == 0 {
			continue
		}
		if len(o.Nodes) != g.Pods {
			t.Fatalf("%s has %d pods and room for %d", g.ID, g.Pods, len(o.Nodes))
		}
		for _, id := range o.Nodes {
			i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ID == id })
			if !fitsOn(&c.Nodes[i], g.Pod, used[id]) {
				t.Fatalf("%s is let go to %s, where there is no room", g.ID, id)
			}
			used[id].Add(g.Pod.requests)
		}
	}
	ungatedFit(t, c, d, gangs, used)
	inWindow(t, c, d, gangs)
	whole := 0
	for _, cr := range d.Create {
		if !cr.Stretch {
			continue
		}
		if !gangs[cr.Gang].Autoscaled {
			t.Fatalf("%s is let go without room, and no nodes are added for it", cr.Gang)
		}
		if gangs[cr.Gang].Pods > 1 {
			whole++
		}
	}
	if whole > 1 {
		t.Fatalf("%d gangs of several pods are let go without room", whole)
	}
}

// ungatedFit checks that gangs created without gates fit in addition to everything else, and that
// their pods cannot take the room of another gang.
func ungatedFit(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang, used map[NodeID]Resources) {
	for _, cr := range d.Create {
		g := gangs[cr.Gang]
		if !cr.Ungated {
			continue
		}
		if !c.Options.Ungated || cr.Stretch || g.Undone > 0 || len(cr.Nodes) != g.Pods {
			t.Fatalf("%s (%d pods, undone %d times, stretched: %v) is made without gates on %v", g.ID, g.Pods, g.Undone, cr.Stretch, cr.Nodes)
		}
		for _, id := range cr.Nodes {
			n := &c.Nodes[slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ID == id })]
			if !fitsOn(n, g.Pod, used[id]) {
				t.Fatalf("%s is made without gates for %s, where there is no room", g.ID, id)
			}
			used[id].Add(g.Pod.requests)
		}
	}
}

// inWindow checks that the scheduler gets no more pods than it can place soon.
func inWindow(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang) {
	before, let := 0, 0
	for _, g := range gangs {
		undone := slices.ContainsFunc(d.Undo, func(u Undo) bool { return u.Gang == g.ID })
		if g.State == Binding && !undone && g.Since.Add(c.Options.Limit).After(epoch()) {
			before += g.Pods - g.boundPods()
		}
	}
	for _, o := range d.Open {
		let += gangs[o.Gang].Pods
	}
	free := 0
	for _, cr := range d.Create {
		if cr.Ungated {
			let += gangs[cr.Gang].Pods
			free++
		}
	}
	alone := before == 0 && len(d.Open)+free == 1
	if w := c.Options.Window; w > 0 && len(d.Open)+free > 0 && before+let > w && !alone {
		t.Fatalf("%d pods are let go after %d, and %d may be", let, before, w)
	}
}

// inTime checks that no gang stays incomplete beyond its limit.
func inTime(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang) {
	undone := map[ID]bool{}
	for _, u := range d.Undo {
		undone[u.Gang] = true
		if g := gangs[u.Gang]; g.State != Gated && g.State != Binding {
			t.Fatalf("%s is undone and is %s", g.ID, g.State)
		}
		if lostRoom(c, d, gangs[u.Gang]) {
			continue
		}
		if !u.Until.After(epoch()) || u.Until.After(epoch().Add(c.Options.MaxBackOff)) {
			t.Fatalf("%s pauses until %v", u.Gang, u.Until)
		}
	}
	for id, g := range gangs {
		old := !g.Since.Add(c.Options.Limit).After(epoch())
		partial := g.State == Binding && g.boundPods() > 0 || g.Trouble != "" && (g.State == Gated || g.State == Binding && c.Options.NodesKnown)
		if (partial && old) != undone[id] && (!undone[id] || !lostRoom(c, d, g)) {
			t.Fatalf("%s is %s since %v, and undone: %v", id, g.State, epoch().Sub(g.Since), undone[id])
		}
	}
}

// lostRoom reports whether an ungated gang was rejected and waits for room again.
func lostRoom(c Cluster, d Decision, g *Gang) bool {
	kind := d.Waiting[g.ID].Kind
	return c.Options.NodesKnown && g.State == Binding && g.Ungated && g.Trouble != "" && (kind == ForRoom || kind == ForCapacity)
}

// inOrder checks that no gang starts with the resources for which a more important gang waits,
// unless it can be preempted.
func inOrder(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang) {
	for _, cr := range d.Create {
		g := gangs[cr.Gang]
		if g.NotBefore.After(epoch()) {
			t.Fatalf("%s is made in its pause", g.ID)
		}
		for id, r := range d.Waiting {
			o := gangs[id]
			held := r.Kind == ForRoom || r.Kind == ForRelease
			if held && o.Pod.key == g.Pod.key && o.Priority > g.Priority && (!c.Options.Preemption || !g.Preemptible) && !cr.Stretch {
				t.Fatalf("%s (priority %d) is made while %s (priority %d) waits: %s", g.ID, g.Priority, id, o.Priority, r.Text)
			}
		}
	}
}

func victimsAreLess(t *rapid.T, c Cluster, d Decision, gangs map[ID]*Gang) {
	for _, p := range d.Preempt {
		v, g := gangs[p.Gang], gangs[p.For]
		if !c.Options.Preemption || v.State != Running || !v.Preemptible || v.Priority >= g.Priority {
			t.Fatalf("%s (%s, priority %d) has to make room for %s (priority %d)", v.ID, v.State, v.Priority, g.ID, g.Priority)
		}
		if d.Waiting[g.ID].Kind != ForRelease {
			t.Fatalf("%s has to make room for %s, which is promised none: %v", v.ID, g.ID, d.Waiting[g.ID])
		}
	}
}

// TestWaitsAreBounded simulates clusters until all gangs have run: gangs end after a while, and
// each one that can fit gets its turn.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	pods := shapes(t)
	rapid.Check(t, func(t *rapid.T) {
		c := scene(t, pods)
		c.Options.NodesKnown = true
		now := epoch()
		for i := range c.Gangs {
			g := &c.Gangs[i]
			g.State, g.Held, g.Made, g.NotBefore, g.Undone = Queued, nil, 0, time.Time{}, 0
			g.MaxSlots, g.Autoscaled = 0, false
		}
		for i := range c.Nodes {
			c.Nodes[i].Used = Resources{}
		}
		for turn := 0; len(c.Gangs) > 0; turn++ {
			d := Decide(c, now)
			step(&c, d, now)
			left := slices.ContainsFunc(c.Gangs, func(g Gang) bool {
				b := newBoard(c)
				return b.holdsPods(b.shapeOf(&g), g.Pods)
			})
			if !left {
				return
			}
			if turn > 200 {
				t.Fatalf("after %d turns these are left: %v", turn, d.Waiting)
			}
			now = now.Add(time.Second)
		}
	})
}

// step is a cluster that executes a decision, in which gangs run for one turn.
func step(c *Cluster, d Decision, now time.Time) {
	find := func(id ID) *Gang {
		return &c.Gangs[slices.IndexFunc(c.Gangs, func(g Gang) bool { return g.ID == id })]
	}
	var ended []ID
	for i := range c.Gangs {
		if c.Gangs[i].State == Running || c.Gangs[i].State == Releasing {
			ended = append(ended, c.Gangs[i].ID)
		}
	}
	for _, cr := range d.Create {
		g := find(cr.Gang)
		g.State, g.Since, g.Made = Gated, now, g.Pods
		if cr.Ungated {
			runsOn(c, g, cr.Nodes, now)
		}
	}
	for _, o := range d.Open {
		runsOn(c, find(o.Gang), o.Nodes, now)
	}
	for _, u := range d.Undo {
		g := find(u.Gang)
		g.State, g.NotBefore, g.Undone = Queued, u.Until, g.Undone+1
	}
	for _, id := range ended {
		g := find(id)
		for _, h := range g.Held {
			i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ID == h.Node })
			for name, amount := range g.Pod.requests {
				c.Nodes[i].Used[name] -= amount * int64(h.Pods)
			}
		}
		c.Gangs = slices.DeleteFunc(c.Gangs, func(o Gang) bool { return o.ID == id })
	}
}

// runsOn binds the pods to the nodes of the hints.
func runsOn(c *Cluster, g *Gang, nodes []NodeID, now time.Time) {
	g.State, g.Since = Running, now
	for _, id := range nodes {
		i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.ID == id })
		c.Nodes[i].Used.Add(g.Pod.requests)
		g.Held = append(g.Held, Held{Node: id, Pods: 1})
	}
}
