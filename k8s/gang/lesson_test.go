package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// shared returns options for a cluster whose other pods are not visible.
func shared(edit ...func(*Options)) Options {
	o := DefaultOptions()
	o.OthersKnown, o.Preemption = false, true
	for _, e := range edit {
		e(&o)
	}
	return o
}

// trialled is an ungated gang that was rejected a while ago; some of its pods may be placed.
//
//nolint:revive // the arguments read as a table's row
func trialled(t testing.TB, id ID, n int, each int64, ago time.Duration, bound ...Held) Gang {
	g := Gang{
		ID: id, Job: JobID(id), Pods: n, Pod: pod(t, gpuSpec(each)), Priority: 80, State: Binding, Made: n, Held: bound,
		Submitted: epoch(), Since: epoch().Add(-ago - time.Second), Refused: epoch().Add(-ago), Lacks: []corev1.ResourceName{"nvidia.com/gpu"},
	}
	if len(bound) > 0 {
		g.Progress = g.Since
	}
	return g
}

func TestCapacityLearnedFromRefusal(t *testing.T) {
	t.Parallel()
	ours := func(n Node, own int64) Node {
		n.Own = Resources{"nvidia.com/gpu": own}
		return n
	}
	lesson := func(node NodeID, most, sure int64, times int, lasts time.Duration) Lesson {
		return Lesson{
			Node: node, Resource: "nvidia.com/gpu", Most: most, Sure: sure, Least: most, LeastAt: epoch(),
			At: epoch(), Until: epoch().Add(lasts), Times: times,
		}
	}
	before := func(l Lesson, ago time.Duration) Lesson {
		l.At, l.LeastAt, l.Until = l.At.Add(-ago), l.LeastAt.Add(-ago), l.Until.Add(-ago)
		return l
	}
	for name, c := range map[string]struct {
		options Options
		nodes   []Node
		gang    Gang
		known   []Lesson
		want    []Lesson
		undone  bool
	}{
		"nothing fits where room seemed to be": {
			shared(),
			[]Node{gpus("a", 8, 0), ours(gpus("b", 8, 8), 8)},
			trialled(t, "g", 1, 8, 6*time.Second), nil,
			[]Lesson{lesson("a", 8, 0, 1, time.Minute)},
			true,
		},
		"of two pods one has found room": {
			shared(),
			[]Node{ours(gpus("a", 8, 8), 8), gpus("b", 8, 0)},
			trialled(t, "g", 2, 8, 6*time.Second, Held{"a", 1}), nil,
			[]Lesson{lesson("b", 8, 0, 1, time.Minute)},
			true,
		},
		"the scheduler may not have heard yet": {
			shared(), []Node{gpus("a", 8, 0)}, trialled(t, "g", 1, 8, 4*time.Second), nil, nil, false,
		},
		"what is seen is not guessed": {
			DefaultOptions(), []Node{gpus("a", 8, 0)}, trialled(t, "g", 1, 8, 6*time.Second), nil, nil, false,
		},
		"it was refused for another reason": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			func() Gang {
				g := trialled(t, "g", 1, 8, 6*time.Second)
				g.Lacks = []corev1.ResourceName{"cpu"}
				return g
			}(),
			nil, nil, false,
		},
		"a node may have been refused for another reason": {
			shared(),
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			func() Gang {
				g := trialled(t, "g", 1, 8, 6*time.Second)
				g.Lacks = Lacking("0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had volume node affinity conflict.")
				return g
			}(),
			nil, nil, false,
		},
		"nodes are being added for it": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			func() Gang { g := trialled(t, "g", 1, 8, 6*time.Second); g.Stretched = true; return g }(),
			nil, nil, false,
		},
		"it is as it was": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			trialled(t, "g", 1, 8, 6*time.Second),
			[]Lesson{before(lesson("a", 8, 0, 1, time.Minute), time.Minute)},
			[]Lesson{lesson("a", 8, 0, 2, 2*time.Minute)},
			true,
		},
		"it is as it has been for long": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			trialled(t, "g", 1, 8, 6*time.Second),
			[]Lesson{before(lesson("a", 8, 0, 9, 5*time.Minute), 5*time.Minute)},
			[]Lesson{lesson("a", 8, 0, 10, 5*time.Minute)},
			true,
		},
		"less is left than was thought": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			trialled(t, "g", 1, 2, 6*time.Second),
			[]Lesson{before(lesson("a", 8, 0, 3, time.Minute), 5*time.Second)},
			[]Lesson{lesson("a", 2, 0, 3, 4*time.Minute)},
			true,
		},
		"more was placed than was thought": {
			shared(),
			[]Node{ours(gpus("a", 8, 8), 8)},
			Gang{ID: "g", Pods: 1, Pod: pod(t, gpuSpec(1)), State: Queued},
			[]Lesson{lesson("a", 8, 0, 3, time.Minute)},
			nil, false,
		},
		"it was long ago": {
			shared(),
			[]Node{gpus("a", 8, 0)},
			Gang{ID: "g", Pods: 1, Pod: pod(t, gpuSpec(1)), State: Queued},
			[]Lesson{before(lesson("a", 8, 0, 3, time.Minute), 6*time.Minute)},
			nil, false,
		},
		"its node is gone": {
			shared(),
			[]Node{gpus("b", 8, 0)},
			Gang{ID: "g", Pods: 1, Pod: pod(t, gpuSpec(1)), State: Queued},
			[]Lesson{lesson("a", 8, 0, 3, time.Minute)},
			nil, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Decide(Cluster{Options: c.options, Nodes: c.nodes, Gangs: []Gang{c.gang}, Lessons: c.known}, epoch())
			if diff := cmp.Diff(d.Lessons, c.want); diff != "" {
				t.Errorf("lessons: got -, want +:\n%s", diff)
			}
			if undone := len(d.Undo) > 0; undone != c.undone || undone && d.Undo[0].Until != epoch() {
				t.Errorf("got undone %v, want %t and no pause", d.Undo, c.undone)
			}
		})
	}
}

// If other pods use the free resources of a known cluster, priority 80 preempts 20.
func TestPreemptionByLearnedRoom(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"nodes are known": true, "nodes are not known": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := gpus("b", 8, 8)
			b.Own = Resources{"nvidia.com/gpu": 8}
			low := Gang{ID: "low", Job: "low", Pods: 1, Pod: pod(t, gpuSpec(8)), Priority: 20, State: Running, Preemptible: true, Held: []Held{{"b", 1}}}
			c := Cluster{
				Options: shared(func(o *Options) { o.NodesKnown = known }), Nodes: []Node{gpus("a", 8, 0), b},
				Gangs: []Gang{low, trialled(t, "high", 1, 8, 6*time.Second)},
			}
			d := Decide(c, epoch())
			if len(d.Undo) != 1 || d.Undo[0].Gang != "high" {
				t.Fatalf("got undone %v, want high", d.Undo)
			}
			high := &c.Gangs[1]
			high.State, high.Refused, high.Lacks, high.NotBefore, c.Lessons = Queued, time.Time{}, nil, d.Undo[0].Until, d.Lessons
			if pauses := high.NotBefore.After(epoch()); pauses == known {
				t.Errorf("got a pause: %t, want one only where nodes are not known", pauses)
			}
			now := high.NotBefore
			d = Decide(c, now)
			if diff := cmp.Diff(d.Preempt, []Preempt{{Gang: "low", For: "high"}}); diff != "" {
				t.Fatalf("got -, want +:\n%s\n%v", diff, d.Waiting)
			}
			c.Gangs, c.Nodes[1].Used, c.Nodes[1].Own, c.Lessons = c.Gangs[1:], Resources{}, nil, d.Lessons
			if d = Decide(c, now.Add(time.Second)); len(d.Create) != 1 {
				t.Errorf("got %v when the other has ended, want high made", d.Waiting)
			}
		})
	}
}

// The rejection of a large pod does not delay smaller ones.
func TestRejectionOfLargePodDoesNotDelaySmallOnes(t *testing.T) {
	t.Parallel()
	a := gpus("a", 8, 2)
	a.Own = Resources{"nvidia.com/gpu": 2}
	low := Gang{ID: "low", Job: "low", Pods: 1, Pod: pod(t, gpuSpec(2)), Priority: 20, State: Running, Held: []Held{{"a", 1}}}
	queued := func(id ID, priority int, each int64) Gang {
		return Gang{ID: id, Job: JobID(id), Pods: 1, Pod: pod(t, gpuSpec(each)), Priority: priority, State: Queued, Submitted: epoch()}
	}
	c := Cluster{
		Options: shared(), Nodes: []Node{a}, Gangs: []Gang{low, queued("large", 80, 6), queued("small", 80, 1)},
		Lessons: []Lesson{{
			Node: "a", Resource: "nvidia.com/gpu", Most: 8, Sure: 2, Least: 8, LeastAt: epoch(), At: epoch(), Until: epoch().Add(time.Minute), Times: 1,
		}},
	}
	d := Decide(c, epoch())
	if len(d.Create) != 1 || d.Create[0].Gang != "small" || len(d.Preempt) > 0 {
		t.Errorf("got made %v and preempted %v, want small and none", d.Create, d.Preempt)
	}
	if why := d.Waiting["large"]; why.Kind != ForRoom || !strings.Contains(why.Text, "is asked again at 12:01:00 UTC") {
		t.Errorf("got %v, want that the scheduler is asked again", why)
	}
	if d.Wake.IsZero() || d.Wake.After(epoch().Add(time.Minute)) {
		t.Errorf("got wake %v, want it when the lesson ends", d.Wake)
	}
}

// A large urgent task preempts small ones on a node of which unseen pods hold a part: it runs if the rest is enough,
// and otherwise they are preempted in vain no more than once an hour.
func TestLargeTaskPreemptsSmallOnesBesideUnseenPods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		hidden int64
		runs   bool
		most   int
	}{
		{"the rest is enough", 2, true, 2},
		{"the rest is not enough", 3, false, 2 * 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := gpus("a", 8, 0)
			node.Used, node.Own = Resources{}, Resources{}
			n := &neighbours{hidden: map[NodeID]int64{"a": tt.hidden}, now: epoch(), ran: map[ID]bool{}, undoing: map[ID]bool{}, life: 24 * time.Hour}
			n.Options, n.Nodes = shared(), []Node{node}
			for _, id := range []ID{"small1", "small2"} {
				n.Gangs = append(n.Gangs, Gang{ID: id, Job: JobID(id), Pods: 1, Pod: pod(t, gpuSpec(2)), Priority: 20, Preemptible: true, State: Queued, Submitted: epoch()})
			}
			for range 10 {
				n.second()
			}
			n.Gangs = append(n.Gangs, Gang{ID: "large", Job: "large", Pods: 1, Pod: pod(t, gpuSpec(6)), Priority: 80, State: Queued, Submitted: n.now})
			for range 3 * 60 * 60 {
				n.second()
			}
			if !n.ran["small1"] || !n.ran["small2"] || n.ran["large"] != tt.runs {
				t.Errorf("got run %v, want both small ones, and large: %t", n.ran, tt.runs)
			}
			if len(n.preempted) == 0 || len(n.preempted) > tt.most {
				t.Errorf("got preempted %v, want one to %d times", n.preempted, tt.most)
			}
		})
	}
}

// neighbours is a cluster in which other pods use resources that only its scheduler sees.
type neighbours struct {
	Cluster
	hidden map[NodeID]int64
	now    time.Time
	vain   int
	ran    map[ID]bool
	// undoing are excluded from a decision, because their objects are being deleted.
	undoing map[ID]bool
	// life is the run time of a gang.
	life time.Duration
	// preempted lists all preemptions.
	preempted []Preempt
}

// drawNodes adds nodes with a number of GPUs, and other pods that use one of the given numbers of
// GPUs.
func (n *neighbours) drawNodes(t *rapid.T, gpusEach int64, hidden ...int64) {
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		node := gpus(NodeID(fmt.Sprintf("n%d", i)), gpusEach, 0)
		node.Used, node.Own = Resources{}, Resources{}
		n.hidden[node.ID] = rapid.SampledFrom(hidden).Draw(t, "hidden")
		n.Nodes = append(n.Nodes, node)
	}
}

// drawGang adds a queued gang whose pods request one of the given numbers of GPUs.
func (n *neighbours) drawGang(t *rapid.T, i int, shapes map[int64]*Pod, each ...int64) *Gang {
	id := ID(fmt.Sprintf("g%d", i))
	n.Gangs = append(n.Gangs, Gang{
		ID: id, Job: JobID(id), Pods: rapid.IntRange(1, 2).Draw(t, "pods"), State: Queued, Submitted: epoch().Add(time.Duration(i)),
		Pod: shapes[rapid.SampledFrom(each).Draw(t, "each")],
	})
	return &n.Gangs[len(n.Gangs)-1]
}

// free returns the number of GPUs that the scheduler considers free on a node.
func (n *neighbours) free(i int) int64 {
	node := n.Nodes[i]
	return node.Allocatable["nvidia.com/gpu"] - node.Own["nvidia.com/gpu"] - n.hidden[node.ID]
}

// place binds pods of an ungated gang as far as they fit.
func (n *neighbours) place(g *Gang) {
	each := g.Pod.requests["nvidia.com/gpu"]
	for i := 0; i < len(n.Nodes) && g.boundPods() < g.Pods; i++ {
		for g.boundPods() < g.Pods && n.free(i) >= each {
			n.Nodes[i].Own.Add(g.Pod.requests)
			n.Nodes[i].Used.Add(g.Pod.requests)
			g.Held = append(g.Held, Held{n.Nodes[i].ID, 1})
			if g.Progress.IsZero() {
				g.Progress = n.now
			}
		}
	}
	switch {
	case g.boundPods() == g.Pods:
		g.State, g.Since, g.Refused, g.Lacks = Running, n.now, time.Time{}, nil
		n.ran[g.ID] = true
	case g.Refused.IsZero():
		g.Refused, g.Lacks = n.now, []corev1.ResourceName{"nvidia.com/gpu"}
	}
}

// release removes a gang from its nodes.
func (n *neighbours) release(g *Gang, to State) {
	for _, h := range g.Held {
		i := slices.IndexFunc(n.Nodes, func(one Node) bool { return one.ID == h.Node })
		for name, amount := range g.Pod.requests {
			n.Nodes[i].Own[name] -= amount * int64(h.Pods)
			n.Nodes[i].Used[name] -= amount * int64(h.Pods)
		}
	}
	g.State, g.Since, g.Held, g.Made, g.Progress, g.Refused, g.Lacks = to, n.now, nil, 0, time.Time{}, time.Time{}, nil
}

// second simulates one second of the cluster.
func (n *neighbours) second() {
	n.now = n.now.Add(time.Second)
	c := n.Cluster
	c.Gangs = slices.DeleteFunc(slices.Clone(n.Gangs), func(g Gang) bool { return n.undoing[g.ID] })
	clear(n.undoing)
	d := Decide(c, n.now)
	n.Lessons = d.Lessons
	find := func(id ID) *Gang {
		return &n.Gangs[slices.IndexFunc(n.Gangs, func(g Gang) bool { return g.ID == id })]
	}
	for _, c := range d.Create {
		g := find(c.Gang)
		g.State, g.Since, g.Made = Gated, n.now, g.Pods
	}
	for _, o := range d.Open {
		g := find(o.Gang)
		g.State, g.Since = Binding, n.now
	}
	for _, u := range d.Undo {
		g := find(u.Gang)
		n.vain++
		n.undoing[g.ID] = true
		n.release(g, Queued)
		g.NotBefore, g.Undone = u.Until, g.Undone+1
	}
	for _, p := range d.Preempt {
		g := find(p.Gang)
		n.preempted = append(n.preempted, p)
		n.release(g, Queued) // it is queued again
		g.NotBefore = n.now.Add(time.Hour)
	}
	for i := range n.Gangs {
		switch g := &n.Gangs[i]; {
		case g.State == Binding:
			n.place(g)
		case g.State == Running && n.now.Sub(g.Since) > n.life:
			n.release(g, Queued)
			g.NotBefore = n.now.Add(time.Hour)
		}
	}
}

// Other pods use a part of the nodes for 15 minutes. All gangs that fit run, and the others are not
// retried too often.
func TestGangsRunBesideOtherPods(t *testing.T) {
	t.Parallel()
	shapes := map[int64]*Pod{}
	for _, each := range []int64{1, 2, 4, 8} {
		shapes[each] = pod(t, gpuSpec(each))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := &neighbours{hidden: map[NodeID]int64{}, now: epoch(), ran: map[ID]bool{}, undoing: map[ID]bool{}, life: 20 * time.Second}
		n.Options = shared(func(o *Options) { o.NodesKnown = rapid.Bool().Draw(t, "nodes known") })
		n.drawNodes(t, 8, 0, 3, 8)
		for i := range rapid.IntRange(1, 5).Draw(t, "gangs") {
			n.drawGang(t, i, shapes, 1, 2, 4, 8).Priority = 50
		}
		for range 15 * 60 {
			n.second()
		}
		for _, g := range n.Gangs {
			room := 0
			for i := range n.Nodes {
				room += int((8 - n.hidden[n.Nodes[i].ID]) / g.Pod.requests["nvidia.com/gpu"])
			}
			if fits := room >= g.Pods; fits && !n.ran[g.ID] {
				t.Fatalf("%s (%d pods of %s) has not run in a quarter of an hour, and would fit beside %v: lessons %v", g.ID, g.Pods, g.Pod.formatRequests(), n.hidden, n.Lessons)
			}
		}
		// The first lessons last one, two, four and five minutes: about five in 15 minutes, per
		// gang and size.
		if most := 8 * len(n.Gangs); n.vain > most {
			t.Fatalf("%d vain tries of %d gangs in a quarter of an hour, want no more than %d", n.vain, len(n.Gangs), most)
		}
	})
}
