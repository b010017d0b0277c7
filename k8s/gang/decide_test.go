package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func gpuSpec(n int64, edit ...func(*corev1.PodSpec)) *corev1.PodSpec {
	s := &corev1.PodSpec{Containers: []corev1.Container{{}}}
	if n > 0 {
		q := *resource.NewQuantity(n, resource.DecimalSI)
		s.Containers[0].Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": q}
	}
	for _, e := range edit {
		e(s)
	}
	return s
}

func pod(t testing.TB, s *corev1.PodSpec) *Pod {
	t.Helper()
	p, err := PodOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// gpus returns a node with a number of GPUs and of used GPUs.
func gpus(id NodeID, all, used int64) Node {
	return Node{
		ID: id, Ready: true, Labels: map[string]string{"name": string(id)},
		Allocatable: Resources{"cpu": 64000, "pods": 110, "nvidia.com/gpu": all},
		Used:        Resources{"cpu": 1000, "pods": 10, "nvidia.com/gpu": used},
	}
}

// want is the expected decision; lists are in the order of service.
type want struct {
	Create, Stretch []ID
	Open            map[ID][]NodeID
	Preempt         []Preempt
	Undo            []ID
	Kill            []ID
	Waiting         map[ID]Kind
	Wake            time.Duration
}

func summary(d Decision) want {
	w := want{Preempt: d.Preempt, Kill: d.Kill}
	for _, c := range d.Create {
		w.Create = append(w.Create, c.Gang)
		if c.Stretch {
			w.Stretch = append(w.Stretch, c.Gang)
		}
	}
	for _, o := range d.Open {
		if w.Open == nil {
			w.Open = map[ID][]NodeID{}
		}
		w.Open[o.Gang] = o.Nodes
	}
	for _, u := range d.Undo {
		w.Undo = append(w.Undo, u.Gang)
	}
	for id, r := range d.Waiting {
		if r.Kind == ForPods || r.Kind == ForScheduler {
			continue // about gangs in progress
		}
		if w.Waiting == nil {
			w.Waiting = map[ID]Kind{}
		}
		w.Waiting[id] = r.Kind
	}
	if !d.Wake.IsZero() {
		w.Wake = d.Wake.Sub(epoch())
	}
	return w
}

func TestDecide(t *testing.T) {
	t.Parallel()
	p8, p4, p1, aux := pod(t, gpuSpec(8)), pod(t, gpuSpec(4)), pod(t, gpuSpec(1)), pod(t, gpuSpec(0))
	queued := func(id ID, priority, n int, p *Pod) Gang {
		return Gang{ID: id, Job: JobID(id), Pods: n, Pod: p, Priority: priority, State: Queued, Submitted: epoch()}
	}
	with := func(g Gang, edit func(*Gang)) Gang { edit(&g); return g }
	running := func(id ID, priority, n int, p *Pod, nodes ...NodeID) Gang {
		g := queued(id, priority, n, p)
		g.State, g.Preemptible = Running, true
		for _, id := range nodes {
			g.Held = append(g.Held, Held{Node: id, Pods: n / len(nodes)})
		}
		return g
	}
	yields := func(g Gang, to ID, lasts time.Duration) Gang {
		g.Preemptible, g.Yields, g.YieldsUntil = true, to, epoch().Add(lasts)
		return g
	}
	gated := func(g Gang, made int, ago time.Duration) Gang {
		g.State, g.Made, g.Since = Gated, made, epoch().Add(-ago)
		return g
	}
	preempting := DefaultOptions()
	preempting.Preemption = true
	scaled := func(g Gang) Gang {
		g.Autoscaled = true
		return g
	}
	blind := DefaultOptions()
	blind.NodesKnown = false
	narrow := DefaultOptions()
	narrow.Window = 3

	for _, test := range []struct {
		name    string
		options *Options
		nodes   []Node
		gangs   []Gang
		want    want
	}{
		{
			"a gang that fits is made",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{queued("g", 50, 2, p8)},
			want{Create: []ID{"g"}},
		},
		{
			"a gang that fits only in part waits as a whole",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 1)},
			[]Gang{queued("g", 50, 2, p8)},
			want{Waiting: map[ID]Kind{"g": ForRoom}},
		},
		{
			"a higher number is served first",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{queued("low", 40, 1, p8), queued("high", 60, 1, p8)},
			want{Create: []ID{"high"}, Waiting: map[ID]Kind{"low": ForRoom}},
		},
		{
			"gates are taken away when all pods exist, with hints",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{gated(queued("g", 50, 2, p8), 2, 0)},
			want{Open: map[ID][]NodeID{"g": {"a", "b"}}, Wake: 15 * time.Minute},
		},
		{
			"gates stay while a pod is missing",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{gated(queued("g", 50, 2, p8), 1, time.Second), queued("h", 50, 1, p8)},
			want{Waiting: map[ID]Kind{"h": ForRoom}, Wake: 15*time.Minute - time.Second},
		},
		{
			"pods that are refused are undone",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{with(gated(queued("g", 50, 2, p8), 1, 30*time.Second), func(g *Gang) { g.Trouble = "exceeded quota" })},
			want{Undo: []ID{"g"}, Waiting: map[ID]Kind{"g": ForBackOff}},
		},
		{
			"pods that nobody has come to are waited for",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{gated(queued("g", 50, 2, p8), 1, 14*time.Minute)},
			want{Wake: time.Minute},
		},
		{
			"and not for ever",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{gated(queued("g", 50, 2, p8), 1, 15*time.Minute)},
			want{Undo: []ID{"g"}, Waiting: map[ID]Kind{"g": ForBackOff}},
		},
		{
			"pods that the scheduler finds no node for are undone",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{with(queued("g", 50, 1, p8), func(g *Gang) {
				g.State, g.Since, g.Trouble = Binding, epoch().Add(-30*time.Second), "0/1 nodes are available"
			})},
			want{Undo: []ID{"g"}, Waiting: map[ID]Kind{"g": ForBackOff}},
		},
		{
			"a gang that is not bound in time is undone",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{with(queued("g", 50, 2, p8), func(g *Gang) {
				g.State, g.Since, g.Progress, g.Held = Binding, epoch().Add(-time.Minute), epoch().Add(-30*time.Second), []Held{{"a", 1}}
			})},
			want{Undo: []ID{"g"}, Waiting: map[ID]Kind{"g": ForBackOff}},
		},
		{
			"one whose pods the scheduler still places is not undone",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{with(queued("g", 50, 3, p8), func(g *Gang) {
				g.State, g.Since, g.Progress, g.Held = Binding, epoch().Add(-time.Hour), epoch().Add(-29*time.Second), []Held{{"a", 1}}
			})},
			want{Wake: time.Second},
		},
		{
			"one to whose pods the scheduler has not come is not undone",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{with(queued("g", 50, 3, p8), func(g *Gang) {
				g.State, g.Since, g.Progress, g.Held, g.Unseen = Binding, epoch().Add(-time.Hour), epoch().Add(-time.Minute), []Held{{"a", 1}}, 1
			})},
			want{Wake: 14 * time.Minute},
		},
		{
			"one that the scheduler has come to late is not undone at once",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{with(queued("g", 50, 1, p8), func(g *Gang) {
				g.State, g.Since, g.Progress, g.Trouble = Binding, epoch().Add(-10*time.Minute), epoch().Add(-time.Second), "0/1 nodes are available"
			})},
			want{Wake: 29 * time.Second},
		},
		{
			"one that pauses holds up nobody",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{
				with(queued("g", 60, 1, p8), func(g *Gang) { g.Undone, g.NotBefore = 1, epoch().Add(time.Second) }),
				queued("h", 50, 1, p8),
			},
			want{Create: []ID{"h"}, Waiting: map[ID]Kind{"g": ForBackOff}, Wake: time.Second},
		},
		{
			"room of one that binds is nobody else's",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{with(queued("g", 50, 1, p8), func(g *Gang) { g.State, g.Since = Binding, epoch() }), queued("h", 90, 1, p1)},
			want{Waiting: map[ID]Kind{"h": ForRoom}, Wake: 15 * time.Minute},
		},
		{
			"no more pods are let go than the scheduler places soon",
			&narrow,
			[]Node{gpus("a", 8, 0)},
			[]Gang{
				with(queued("g", 50, 1, p1), func(g *Gang) { g.State, g.Since = Binding, epoch().Add(-time.Second) }),
				gated(queued("h", 50, 2, p1), 2, 0), gated(queued("i", 50, 1, p1), 1, 0),
			},
			want{Open: map[ID][]NodeID{"h": {"a", "a"}}, Wake: 29 * time.Second},
		},
		{
			"one that the scheduler cannot place keeps nobody behind its gate",
			&narrow,
			[]Node{gpus("a", 8, 0)},
			[]Gang{
				with(queued("g", 50, 3, p1), func(g *Gang) { g.State, g.Since = Binding, epoch().Add(-30*time.Second) }),
				gated(queued("h", 50, 2, p1), 2, 0),
			},
			want{Open: map[ID][]NodeID{"h": {"a", "a"}}, Wake: 14*time.Minute + 30*time.Second},
		},
		{
			"one that is larger than what is let go at once goes alone",
			&narrow,
			[]Node{gpus("a", 8, 0)},
			[]Gang{gated(queued("g", 50, 4, p1), 4, 0), gated(queued("h", 50, 1, p1), 1, 0)},
			want{Open: map[ID][]NodeID{"g": {"a", "a", "a", "a"}}, Wake: 30 * time.Second},
		},
		{
			"a lower priority does not start where a higher one waits",
			nil,
			[]Node{gpus("a", 8, 4)},
			[]Gang{queued("high", 60, 1, p8), queued("low", 40, 1, p4)},
			want{Waiting: map[ID]Kind{"high": ForRoom, "low": ForPriority}},
		},
		{
			"one of the same priority passes",
			nil,
			[]Node{gpus("a", 8, 4)},
			[]Gang{queued("a", 50, 1, p8), queued("b", 50, 1, p4)},
			want{Create: []ID{"b"}, Waiting: map[ID]Kind{"a": ForRoom}},
		},
		{
			"a lower priority starts on nodes that the higher one cannot use",
			nil,
			[]Node{gpus("a", 8, 8), gpus("b", 8, 0)},
			[]Gang{
				queued("low", 40, 1, p8),
				queued("high", 60, 1, pod(t, gpuSpec(8, func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"name": "a"} }))),
			},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"one that asks for none of the same is not held up",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{queued("high", 60, 1, p8), queued("low", 40, 1, aux)},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"one that could never fit holds up nobody",
			nil,
			[]Node{gpus("a", 8, 0)},
			[]Gang{queued("huge", 90, 2, p8), queued("low", 40, 1, p8)},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"huge": ForCapacity}},
		},
		{
			"a preemptible one fills what would be idle, because it can be taken back",
			&preempting,
			[]Node{gpus("a", 8, 4)},
			[]Gang{queued("high", 60, 1, p8), with(queued("low", 40, 1, p4), func(g *Gang) { g.Preemptible = true })},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"the least important gang makes room, and no more than needed",
			&preempting,
			[]Node{gpus("a", 8, 8), gpus("b", 8, 8)},
			[]Gang{queued("high", 60, 1, p8), running("x", 10, 1, p4, "a"), running("y", 20, 1, p4, "a"), running("z", 30, 1, p8, "b")},
			want{Preempt: []Preempt{{"x", "high"}, {"y", "high"}}, Waiting: map[ID]Kind{"high": ForRelease}},
		},
		{
			"nobody is asked if all together are not enough",
			&preempting,
			[]Node{gpus("a", 8, 8)},
			[]Gang{queued("high", 60, 1, p8), running("x", 10, 1, p4, "a")},
			want{Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"the same priority does not make room",
			&preempting,
			[]Node{gpus("a", 8, 8)},
			[]Gang{queued("g", 50, 1, p8), running("x", 50, 1, p8, "a")},
			want{Waiting: map[ID]Kind{"g": ForRoom}},
		},
		{
			"nobody is asked without preemption",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{queued("high", 60, 1, p8), running("x", 10, 1, p8, "a")},
			want{Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"what is being released is for the first that waits, and nobody else is asked",
			&preempting,
			[]Node{gpus("a", 8, 8), gpus("b", 8, 8)},
			[]Gang{
				queued("high", 60, 1, p8), running("y", 10, 1, p8, "b"),
				with(running("x", 10, 1, p8, "a"), func(g *Gang) { g.State, g.Deadline = Releasing, epoch().Add(time.Minute) }),
			},
			want{Waiting: map[ID]Kind{"high": ForRelease}, Wake: time.Minute},
		},
		{
			"one that does not stop in time is killed",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{with(running("x", 10, 1, p8, "a"), func(g *Gang) { g.State, g.Deadline = Releasing, epoch() })},
			want{Kill: []ID{"x"}},
		},
		{
			"one that was preempted leaves the room to the other, though that pauses",
			&preempting,
			[]Node{gpus("a", 8, 0)},
			[]Gang{
				with(queued("high", 60, 1, p8), func(g *Gang) { g.Undone, g.NotBefore = 1, epoch().Add(time.Second) }),
				yields(queued("low", 10, 1, p4), "high", time.Minute), yields(queued("other", 10, 1, p4), "", 0),
			},
			want{Create: []ID{"other"}, Waiting: map[ID]Kind{"high": ForBackOff, "low": ForPriority}, Wake: time.Second},
		},
		{
			"and where only a part of its room is free",
			&preempting,
			[]Node{gpus("a", 8, 4)},
			[]Gang{queued("high", 60, 1, p8), yields(queued("low", 10, 1, p4), "high", time.Minute)},
			want{Waiting: map[ID]Kind{"high": ForRoom, "low": ForPriority}, Wake: time.Minute},
		},
		{
			"it starts where there is room for both",
			&preempting,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{
				with(queued("high", 60, 1, p8), func(g *Gang) { g.Undone, g.NotBefore = 1, epoch().Add(time.Second) }),
				yields(queued("low", 10, 1, p4), "high", time.Minute),
			},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"high": ForBackOff}, Wake: time.Second},
		},
		{
			"it does not wait for ever",
			&preempting,
			[]Node{gpus("a", 8, 4)},
			[]Gang{queued("high", 60, 1, p8), yields(queued("low", 10, 1, p4), "high", 0)},
			want{Create: []ID{"low"}, Waiting: map[ID]Kind{"high": ForRoom}},
		},
		{
			"a job stays within max_slots",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{
				with(running("x", 50, 1, p4, "a"), func(g *Gang) { g.Job, g.Slots, g.MaxSlots = "j", 4, 8 }),
				with(queued("y", 50, 1, p8), func(g *Gang) { g.Job, g.Slots, g.MaxSlots = "j", 8, 8 }),
			},
			want{Waiting: map[ID]Kind{"y": ForJobLimit}},
		},
		{
			"excluded nodes are not used",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 0)},
			[]Gang{gated(with(queued("g", 50, 1, p8), func(g *Gang) { g.Exclude = []NodeID{"a"} }), 1, 0)},
			want{Open: map[ID][]NodeID{"g": {"b"}}, Wake: 15 * time.Minute},
		},
		{
			"one pod goes where the least is left",
			nil,
			[]Node{gpus("a", 8, 0), gpus("b", 8, 4)},
			[]Gang{gated(queued("g", 50, 1, p1), 1, 0)},
			want{Open: map[ID][]NodeID{"g": {"b"}}, Wake: 15 * time.Minute},
		},
		{
			"the first that fits nowhere goes to the scheduler where nodes can be added",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{scaled(queued("g", 50, 2, p8)), scaled(queued("h", 50, 2, p8)), scaled(queued("i", 50, 1, p8))},
			want{Create: []ID{"g"}, Stretch: []ID{"g"}, Waiting: map[ID]Kind{"h": ForCapacity, "i": ForRoom}},
		},
		{
			"and no other of several pods before it has what it needs",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{
				scaled(with(queued("g", 50, 2, p8), func(g *Gang) { g.State, g.Since, g.Stretched = Binding, epoch().Add(-time.Minute), true })),
				scaled(queued("h", 50, 2, p8)),
			},
			want{Waiting: map[ID]Kind{"h": ForCapacity}, Wake: 14 * time.Minute},
		},
		{
			"single pods go together, and stop where one of several is the next",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{scaled(queued("g", 50, 1, p8)), scaled(queued("h", 50, 1, p8)), scaled(queued("i", 50, 2, p8)), scaled(queued("j", 50, 1, p8))},
			want{Create: []ID{"g", "h"}, Stretch: []ID{"g", "h"}, Waiting: map[ID]Kind{"i": ForCapacity, "j": ForRoom}},
		},
		{
			"those of a pool that does not grow wait",
			nil,
			[]Node{gpus("a", 8, 8)},
			[]Gang{queued("g", 50, 1, p8), scaled(queued("h", 50, 1, p8))},
			want{Create: []ID{"h"}, Stretch: []ID{"h"}, Waiting: map[ID]Kind{"g": ForRoom}},
		},
		{
			"nodes that are not known stop nobody",
			&blind, nil,
			[]Gang{queued("g", 50, 2, p8), gated(queued("h", 50, 1, p8), 1, 0)},
			want{Create: []ID{"g"}, Open: map[ID][]NodeID{"h": nil}, Wake: 15 * time.Minute},
		},
		{
			"a gang that holds half of what it needs on unknown nodes is undone",
			&blind, nil,
			[]Gang{with(queued("g", 50, 2, p8), func(g *Gang) {
				g.State, g.Since, g.Progress, g.Held = Binding, epoch().Add(-time.Hour), epoch().Add(-30*time.Second), []Held{{"a", 1}}
			})},
			want{Undo: []ID{"g"}, Waiting: map[ID]Kind{"g": ForBackOff}},
		},
		{
			"a gang that holds nothing on unknown nodes stays with the scheduler",
			&blind, nil,
			[]Gang{with(queued("g", 50, 2, p8), func(g *Gang) { g.State, g.Since = Binding, epoch().Add(-time.Hour) })},
			want{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions()
			if test.options != nil {
				o = *test.options
			}
			got := summary(Decide(Cluster{Options: o, Nodes: test.nodes, Gangs: test.gangs}, epoch()))
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("got - want +:\n%s", diff)
			}
		})
	}
}
