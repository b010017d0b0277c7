package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// unseen returns options for a cluster in which neither nodes nor other pods are visible.
func unseen() Options { return shared(func(o *Options) { o.NodesKnown = false }) }

func TestRefusalWithUnknownNodes(t *testing.T) {
	t.Parallel()
	queued := func(id ID, priority, n int, each int64) Gang {
		return Gang{ID: id, Job: JobID(id), Pods: n, Pod: pod(t, gpuSpec(each)), Priority: priority, State: Queued, Submitted: epoch()}
	}
	running := func(id ID, each int64) Gang {
		g := queued(id, 20, 1, each)
		g.State, g.Preemptible, g.Held = Running, true, []Held{{"n", 1}}
		return g
	}
	// Eight GPUs were rejected while det-deploy's pods used Sure.
	refused := func(sure int64) []Lesson {
		return []Lesson{{
			Node: NodeID(pod(t, gpuSpec(8)).place), Resource: "nvidia.com/gpu", Most: sure + 8, Sure: sure,
			At: epoch(), Until: epoch().Add(time.Minute), Times: 1,
		}}
	}
	for name, c := range map[string]struct {
		lessons []Lesson
		gangs   []Gang
		made    []ID
		victims []ID
		waiting map[ID]Kind
	}{
		"smaller pods are not held back, however many": {
			refused(0),
			[]Gang{queued("large", 90, 1, 8), queued("small", 50, 30, 4), queued("one", 10, 1, 1)},
			[]ID{"small", "one"},
			nil,
			map[ID]Kind{"large": ForRoom},
		},
		"what asks for as much waits, whatever its priority": {
			refused(0),
			[]Gang{queued("larger", 90, 1, 16), queued("large", 10, 1, 8)},
			nil, nil,
			map[ID]Kind{"larger": ForRoom, "large": ForRoom},
		},
		"smaller victims make no room for what no node may have": {
			refused(8),
			[]Gang{running("low", 4), running("other", 4), queued("large", 90, 1, 8)},
			nil, nil,
			map[ID]Kind{"large": ForRoom},
		},
		"one victim as large makes room": {
			refused(12),
			[]Gang{running("low", 4), running("full", 8), queued("large", 90, 1, 8)},
			nil,
			[]ID{"full"},
			map[ID]Kind{"large": ForRelease},
		},
		"it does so beside small ones that have come since": {
			refused(8),
			[]Gang{running("low", 1), running("lower", 1), running("full", 8), queued("large", 90, 1, 8)},
			nil,
			[]ID{"full"},
			map[ID]Kind{"large": ForRelease},
		},
		"one victim is not enough for two pods": {
			refused(8),
			[]Gang{running("full", 8), queued("large", 90, 2, 8)},
			nil, nil,
			map[ID]Kind{"large": ForRoom},
		},
		"of several pods as many are tried as had room": {
			refused(8), []Gang{queued("large", 90, 1, 8)}, []ID{"large"}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Decide(Cluster{Options: unseen(), Gangs: c.gangs, Lessons: c.lessons}, epoch())
			var made, victims []ID
			for _, one := range d.Create {
				made = append(made, one.Gang)
			}
			for _, one := range d.Preempt {
				victims = append(victims, one.Gang)
			}
			if !slices.Equal(made, c.made) || !slices.Equal(victims, c.victims) {
				t.Errorf("got made %v and preempted %v, want %v and %v: %v", made, victims, c.made, c.victims, d.Waiting)
			}
			for id, want := range c.waiting {
				if d.Waiting[id].Kind != want {
					t.Errorf("%s: got %v, want %s", id, d.Waiting[id], want)
				}
				if want == ForRoom && !strings.Contains(d.Waiting[id].Text, "is asked again at 12:01:00 UTC") {
					t.Errorf("%s: got %q, want when the scheduler is asked again", id, d.Waiting[id].Text)
				}
			}
		})
	}
}

// For an hour there are tasks that are too large for any node. No pod is preempted for them,
// smaller tasks that fit run, and the large ones are not retried too often.
func TestOversizedTasksDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	shapes := map[int64]*Pod{}
	for _, each := range []int64{1, 2, 4, 8, 16} {
		shapes[each] = pod(t, gpuSpec(each))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := &neighbours{hidden: map[NodeID]int64{}, now: epoch(), ran: map[ID]bool{}, undoing: map[ID]bool{}, life: 3 * time.Minute}
		n.Options = unseen()
		n.Options.Preemption = rapid.Bool().Draw(t, "preemption")
		n.drawNodes(t, 4, 0, 0, 2)
		for i := range rapid.IntRange(2, 8).Draw(t, "gangs") {
			g := n.drawGang(t, i, shapes, 1, 2, 4, 8, 16)
			g.Priority = rapid.SampledFrom([]int{20, 50, 80}).Draw(t, "priority")
			g.Preemptible = rapid.Bool().Draw(t, "preemptible")
		}
		for range 60 * 60 {
			n.second()
		}
		each := map[ID]int64{}
		for _, g := range n.Gangs {
			each[g.ID] = g.Pod.requests["nvidia.com/gpu"]
			room := 0
			for i := range n.Nodes {
				room += int((4 - n.hidden[n.Nodes[i].ID]) / each[g.ID])
			}
			if room >= g.Pods && !n.ran[g.ID] {
				t.Fatalf("%s (%d pods of %s) has not run in an hour, and would fit beside %v: lessons %v", g.ID, g.Pods, g.Pod.formatRequests(), n.hidden, n.Lessons)
			}
		}
		for _, p := range n.preempted {
			if each[p.Gang] < each[p.For] {
				t.Fatalf("%s (%d GPUs a pod) had to make room for %s (%d)", p.Gang, each[p.Gang], p.For, each[p.For])
			}
		}
		if most := 25 * len(n.Gangs); n.vain > most {
			t.Fatalf("%d vain tries of %d gangs in an hour, want no more than %d", n.vain, len(n.Gangs), most)
		}
	})
}
