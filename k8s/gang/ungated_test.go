package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// Gates are omitted only where they cannot help.
func TestGatesAreOmitted(t *testing.T) {
	t.Parallel()
	one, whole := pod(t, gpuSpec(1)), pod(t, gpuSpec(8))
	for name, row := range map[string]struct {
		edit    func(*Cluster)
		gang    Gang
		ungated bool
		nodes   []NodeID
		waits   Kind
	}{
		"on one node":                       {gang: Gang{Pods: 4, Pod: one}, ungated: true, nodes: []NodeID{"a", "a", "a", "a"}},
		"on several that it fills":          {gang: Gang{Pods: 2, Pod: whole}, ungated: true, nodes: []NodeID{"a", "b"}},
		"a single pod":                      {gang: Gang{Pods: 1, Pod: one}, ungated: true, nodes: []NodeID{"a"}},
		"on several, with room left on one": {gang: Gang{Pods: 12, Pod: one}},
		"after a try that was undone":       {gang: Gang{Pods: 4, Pod: one, Undone: 1}},
		"where a quota may refuse a part":   {gang: Gang{Pods: 4, Pod: one}, edit: func(c *Cluster) { c.Options.Ungated = false }},
		"nodes are added for it":            {gang: Gang{Pods: 3, Pod: whole, Autoscaled: true}},
		"when the scheduler has enough": {gang: Gang{Pods: 4, Pod: one}, waits: ForScheduler, edit: func(c *Cluster) {
			c.Options.Window = 4
			c.Gangs = append(c.Gangs, Gang{ID: "other", Pods: 1, Pod: one, State: Binding, Since: epoch(), Priority: 50})
		}},
		"one that is larger than the window goes alone": {gang: Gang{Pods: 4, Pod: one}, ungated: true, nodes: []NodeID{"a", "a", "a", "a"}, edit: func(c *Cluster) { c.Options.Window = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster{Options: DefaultOptions(), Nodes: []Node{gpus("a", 8, 0), gpus("b", 8, 0)}}
			c.Options.Ungated = true
			row.gang.ID, row.gang.State, row.gang.Priority = "g", Queued, 50
			c.Gangs = []Gang{row.gang}
			if row.edit != nil {
				row.edit(&c)
			}
			d := Decide(c, epoch())
			if row.waits != "" {
				if len(d.Create) > 0 || d.Waiting["g"].Kind != row.waits {
					t.Fatalf("got %+v and %v, want it to wait: %s", d.Create, d.Waiting["g"], row.waits)
				}
				return
			}
			if len(d.Create) != 1 || d.Create[0].Ungated != row.ungated {
				t.Fatalf("got %+v, want it made, without gates: %v", d.Create, row.ungated)
			}
			if diff := cmp.Diff(d.Create[0].Nodes, row.nodes); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
}

// Preferred nodes do not make gangs different.
func TestGangsAreAlikeWhateverTheyPrefer(t *testing.T) {
	t.Parallel()
	prefers := pod(t, gpuSpec(1, func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}},
		}}
	}))
	if plain := pod(t, gpuSpec(1)); prefers.key != plain.key {
		t.Errorf("got %q and %q, want one key", prefers.key, plain.key)
	}
}

func TestTheWindowFollowsTheScheduler(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]int{0: 200, 10: 200, 50: 200, 100: 400, 10_000: 5000} {
		if got := WindowAt(rate); got != want {
			t.Errorf("%v pods a second: got %d, want %d", rate, got, want)
		}
	}
}

// A partial gang without gates reports why its other pods do not exist.
func TestPartialUngatedGangReportsMissingPods(t *testing.T) {
	t.Parallel()
	c := Cluster{Options: DefaultOptions(), Nodes: []Node{gpus("a", 8, 0)}}
	c.Gangs = []Gang{{ID: "g", Pods: 2, Made: 1, Pod: pod(t, gpuSpec(1)), State: Binding, Since: epoch().Add(-time.Second), Trouble: "exceeded quota"}}
	if got, want := Decide(c, epoch()).Waiting["g"].Text, "1 of its 2 pods exist: exceeded quota"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Other pods may use the room between the decision to create a gang without gates and the
// scheduler.
func TestUngatedGangIsUndoneWhenCapacityIsLost(t *testing.T) {
	t.Parallel()
	const refused = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
	for name, row := range map[string]struct {
		edit func(*Cluster, *Gang)
		want Kind
		undo bool
	}{
		"none has a node":                {want: ForRoom, undo: true},
		"one has":                        {edit: func(_ *Cluster, g *Gang) { g.Held, g.Progress = []Held{{"a", 1}}, epoch() }, want: ForRoom, undo: true},
		"its node is gone":               {edit: func(c *Cluster, _ *Gang) { c.Nodes = c.Nodes[:1] }, want: ForCapacity, undo: true},
		"the scheduler has not said so":  {edit: func(_ *Cluster, g *Gang) { g.Trouble = "" }, want: ForRoom},
		"there is room":                  {edit: func(c *Cluster, _ *Gang) { c.Nodes[0].Used, c.Nodes[1].Used = Resources{}, Resources{} }, want: ForScheduler},
		"it had gates":                   {edit: func(_ *Cluster, g *Gang) { g.Ungated = false }, want: ForScheduler},
		"others' pods are not seen":      {edit: func(c *Cluster, _ *Gang) { c.Options.OthersKnown = false }, want: ForScheduler},
		"another that goes first has it": {edit: takenByAnother, want: ForRoom, undo: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cluster{Options: DefaultOptions(), Nodes: []Node{gpus("a", 8, 8), gpus("b", 8, 8)}}
			g := Gang{ID: "g", Pods: 2, Made: 2, Pod: pod(t, gpuSpec(8)), State: Binding, Since: epoch(), Priority: 50, Ungated: true, Trouble: refused}
			if row.edit != nil {
				row.edit(&c, &g)
			}
			c.Gangs = append(c.Gangs, g)
			d := Decide(c, epoch())
			if d.Waiting["g"].Kind != row.want || (len(d.Undo) == 1) != row.undo {
				t.Fatalf("got %+v, undone: %+v; want kind %s, undone: %v", d.Waiting["g"], d.Undo, row.want, row.undo)
			}
			if row.undo && !d.Undo[0].Until.Equal(epoch()) {
				t.Errorf("it pauses until %v, want not at all", d.Undo[0].Until)
			}
		})
	}
}

// takenByAnother gives the free resources to a gang of higher priority.
func takenByAnother(c *Cluster, g *Gang) {
	c.Nodes[0].Used, c.Nodes[1].Used = Resources{}, Resources{}
	c.Gangs = append(c.Gangs, Gang{ID: "first", Pods: 1, Made: 1, Pod: g.Pod, State: Binding, Since: epoch(), Priority: 90})
}
