package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDecideOrder(t *testing.T) {
	t.Parallel()
	one := []Agent{machine("a", 1)}
	four := []Agent{machine("a", 4)}
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"an empty pool has nothing to do": {Pool{}, ""},
		"priority 1 goes before priority 2": {
			Pool{Agents: one, Allocations: []Allocation{task("t1", 1, priority(2)), task("t2", 1, priority(1))}},
			want("start t2 a:0", "t1: no free slots"),
		},
		"within a priority the queue position decides": {
			Pool{Agents: one, Allocations: []Allocation{task("t1", 1), task("t2", 1, position(-1))}},
			want("start t2 a:0", "t1: no free slots"),
		},
		"within a position the older goes first": {
			Pool{Agents: one, Allocations: []Allocation{task("t2", 1, position(7)), task("t1", 1, position(7))}},
			want("start t1 a:0", "t2: no free slots"),
		},
		"a task that does not fit does not block later ones of its level": {
			Pool{Agents: four, Allocations: []Allocation{
				task("r", 2, on("a:0,1")), task("t1", 4), task("t2", 2),
			}},
			want("start t2 a:2,3", "t1: no free slots"),
		},
		"a task that does not fit blocks lower levels": {
			Pool{Agents: four, Allocations: []Allocation{
				task("r", 2, on("a:0,1")), task("t1", 4), task("t2", 1, priority(43)), task("t3", 1, priority(43), preemptible),
			}},
			want("t1: no free slots", "t2: a task of higher priority waits", "t3: a task of higher priority waits"),
		},
		"with preemption lower levels are back-filled with preemptible tasks": {
			Pool{Agents: four, Scheduler: Scheduler{Preemption: true}, Allocations: []Allocation{
				task("r", 2, on("a:0,1")), task("t1", 4), task("t2", 1, priority(43)), task("t3", 1, priority(43), preemptible),
			}},
			want("start t3 a:2", "t1: no free slots", "t2: a task of higher priority waits"),
		},
		"a task larger than the pool blocks no other": {
			Pool{Agents: four, Allocations: []Allocation{task("t1", 5), task("t2", 1, priority(99))}},
			want("start t2 a:0", "t1: larger than the pool"),
		},
		"a task that a launch would make fit blocks lower levels": {
			Pool{Agents: four, Room: []Shape{{Slots: 8, Count: 1}}, Allocations: []Allocation{task("t1", 5), task("t2", 1, priority(99))}},
			want("t1: no free slots", "t2: a task of higher priority waits"),
		},
		"a task that excludes all agents blocks no other": {
			Pool{Agents: one, Allocations: []Allocation{task("t1", 1, without("a", "gone", "a")), task("t2", 1, priority(99))}},
			want("start t2 a:0", "t1: larger than the pool"),
		},
		"agents without waiting tasks are unchanged": {Pool{Agents: four}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, c.pool, c.want)
		})
	}
}

func TestDecideLimits(t *testing.T) {
	t.Parallel()
	disabled, draining := machine("d", 4), machine("e", 4)
	disabled.Enabled, draining.Draining = false, true
	partly := machine("p", 4)
	partly.Slots[0].Enabled, partly.Slots[2].Draining = false, true
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"disabled and draining agents get nothing": {
			Pool{Agents: []Agent{disabled, draining}, MaxAux: 9, Allocations: []Allocation{task("t1", 1), task("t2", 0)}},
			want("t1: no agent of the pool is connected and enabled", "t2: no agent of the pool is connected and enabled"),
		},
		"disabled and draining slots get nothing": {
			Pool{Agents: []Agent{partly}, Allocations: []Allocation{task("t1", 2), task("t2", 1)}},
			want("start t1 p:1,3", "t2: no free slots"),
		},
		"an excluded agent is not used": {
			Pool{Agents: []Agent{machine("a", 4), machine("b", 4)}, Allocations: []Allocation{task("t1", 2, without("a")), task("t2", 4, without("b"))}},
			want("start t1 b:0,1", "start t2 a:0,1,2,3"),
		},
		"a job is held at its max_slots": {
			Pool{Agents: []Agent{machine("a", 8)}, Allocations: []Allocation{
				task("r", 1, job("j"), on("a:0")), task("t1", 1, job("j"), maxSlots(2)), task("t2", 1, job("j"), maxSlots(2)),
				task("t3", 1, priority(99)),
			}},
			want("start t1 a:1", "start t3 a:2", "t2: its job is at max_slots"),
		},
		"auxiliary containers are limited per agent": {
			Pool{Agents: []Agent{machine("a", 0), machine("b", 0)}, MaxAux: 2, Allocations: []Allocation{
				task("r", 0, on("a")), task("t1", 0), task("t2", 0), task("t3", 0), task("t4", 0),
			}},
			want("start t1 a:", "start t2 b:", "start t3 b:", "t4: no free slots"),
		},
		"a pool with no auxiliary places runs no auxiliary task": {
			Pool{Agents: []Agent{machine("a", 4)}, Allocations: []Allocation{task("t1", 0), task("t2", 1, priority(99))}},
			want("start t2 a:0", "t1: larger than the pool"),
		},
		"auxiliary and slotted tasks do not block each other": {
			Pool{Agents: []Agent{machine("a", 1)}, MaxAux: 1, Allocations: []Allocation{
				task("r", 0, on("a")), task("t1", 0, priority(1)), task("t2", 1, priority(99)),
			}},
			want("start t2 a:0", "t1: no free slots"),
		},
		"an auxiliary task runs where all slots are disabled": {
			Pool{MaxAux: 1, Agents: []Agent{{ID: "a", Enabled: true, Slots: []Slot{{ID: 0}}}}, Allocations: []Allocation{task("t1", 0)}},
			"start t1 a:",
		},
		"an allocation on an agent that is gone holds no slots": {
			Pool{Agents: []Agent{machine("a", 1)}, Allocations: []Allocation{task("r", 1, on("gone:0")), task("t1", 1)}},
			"start t1 a:0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, c.pool, c.want)
		})
	}
}

func TestDecideFitting(t *testing.T) {
	t.Parallel()
	worst := Scheduler{Fitting: Worst}
	used := func(slots int, places ...string) Allocation { return task("r", slots, on(places...)) }
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"best takes the agent that is left with least": {
			Pool{Agents: []Agent{machine("a", 8), machine("b", 8)}, Allocations: []Allocation{used(4, "b:0,1,2,3"), task("t1", 2)}},
			"start t1 b:4,5",
		},
		"worst takes the agent that is left with most": {
			Pool{Scheduler: worst, Agents: []Agent{machine("a", 8), machine("b", 8)}, Allocations: []Allocation{used(4, "a:0,1,2,3"), task("t1", 2)}},
			"start t1 b:0,1",
		},
		"among equal agents one in use is preferred to an idle one": {
			Pool{Agents: []Agent{machine("a", 2), machine("b", 4)}, Allocations: []Allocation{used(2, "b:0,1"), task("t1", 2)}},
			"start t1 b:2,3",
		},
		"among equal agents the first by id is taken": {
			Pool{Agents: []Agent{machine("b", 2), machine("a", 2)}, Allocations: []Allocation{task("t1", 2)}},
			"start t1 a:0,1",
		},
		"one machine is preferred to several": {
			Pool{Agents: []Agent{machine("a", 2), machine("b", 2), machine("c", 4)}, Allocations: []Allocation{task("t1", 4)}},
			"start t1 c:0,1,2,3",
		},
		"a gang takes whole machines in equal shares": {
			Pool{Agents: []Agent{machine("a", 4), machine("b", 8), machine("c", 8)}, Allocations: []Allocation{task("t1", 16)}},
			"start t1 b:0,1,2,3,4,5,6,7 c:0,1,2,3,4,5,6,7",
		},
		"a gang prefers idle machines": {
			Pool{Agents: []Agent{machine("a", 8), machine("b", 4), machine("c", 4)}, Allocations: []Allocation{used(4, "a:0,1,2,3"), task("t1", 8)}},
			"start t1 b:0,1,2,3 c:0,1,2,3",
		},
		"a gang may share machines when too few are idle": {
			Pool{Agents: []Agent{machine("a", 8), machine("b", 4)}, Allocations: []Allocation{used(4, "a:0,1,2,3"), task("t1", 8)}},
			"start t1 a:4,5,6,7 b:0,1,2,3",
		},
		"a gang may use part of larger machines": {
			Pool{Agents: []Agent{machine("a", 8), machine("b", 8)}, Allocations: []Allocation{task("t1", 12)}},
			"start t1 a:0,1,2,3,4,5 b:0,1,2,3,4,5",
		},
		"a gang that has no equal shares does not start in part": {
			Pool{Agents: []Agent{machine("a", 4), machine("b", 2)}, Allocations: []Allocation{task("t1", 6)}},
			"t1: larger than the pool",
		},
		"a pool without agents holds zero-slot tasks until one comes": {
			Pool{MaxAux: 1, Allocations: []Allocation{task("t1", 0)}},
			"t1: no agent of the pool is connected and enabled",
		},
		"disabled agents do not count": {
			Pool{Agents: []Agent{{ID: "a", Slots: []Slot{{ID: 0, Enabled: true}}}}, Allocations: []Allocation{task("t1", 1)}},
			"t1: no agent of the pool is connected and enabled",
		},
		"a task for one machine is not split": {
			Pool{Agents: []Agent{machine("a", 4), machine("b", 4)}, Allocations: []Allocation{task("t1", 8, singleNode)}},
			"t1: larger than the pool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, c.pool, c.want)
		})
	}
}

func TestDecidePreemption(t *testing.T) {
	t.Parallel()
	on2 := Scheduler{Preemption: true}
	two, four := []Agent{machine("a", 2)}, []Agent{machine("a", 4)}
	twice := []Agent{machine("a", 4), machine("b", 4)}
	low := priority(60)
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"without preemption there are no victims": {
			Pool{Agents: two, Allocations: []Allocation{task("t1", 2, low, preemptible, on("a:0,1")), task("t2", 1)}},
			"t2: no free slots",
		},
		"a task of lower priority makes room": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t1", 2, low, preemptible, on("a:0,1")), task("t2", 1)}},
			want("preempt t1 for t2", "t2: slots are being released for it"),
		},
		"an allocation that is not preemptible stays": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t1", 2, low, on("a:0,1")), task("t2", 1)}},
			"t2: no free slots",
		},
		"the lowest priority goes first": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{
				task("t1", 1, priority(70), preemptible, on("a:0")), task("t2", 1, low, preemptible, on("a:1")), task("t3", 1),
			}},
			want("preempt t1 for t3", "t3: slots are being released for it"),
		},
		"of one priority the newest goes first": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{
				task("t2", 1, low, preemptible, on("a:0")), task("t1", 1, low, preemptible, on("a:1")), task("t3", 1),
			}},
			want("preempt t2 for t3", "t3: slots are being released for it"),
		},
		"within a priority a task preempts one behind it in the queue": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t9", 2, preemptible, on("a:0,1")), task("t1", 2)}},
			want("preempt t9 for t1", "t1: slots are being released for it"),
		},
		"within a priority one behind in the queue waits": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t1", 2, preemptible, on("a:0,1")), task("t9", 2)}},
			"t9: no free slots",
		},
		"a job does not preempt itself": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t9", 2, job("j"), position(7), preemptible, on("a:0,1")), task("t1", 2, job("j"), position(7))}},
			"t1: no free slots",
		},
		"a higher priority is never preempted": {
			Pool{Scheduler: on2, Agents: two, Allocations: []Allocation{task("t1", 2, priority(1), preemptible, on("a:0,1")), task("t2", 2)}},
			"t2: no free slots",
		},
		"victims on an agent that does not help are spared": {
			Pool{Scheduler: on2, Agents: twice, Allocations: []Allocation{
				task("t1", 4, low, preemptible, on("a:0,1,2,3")), task("t2", 1, low, preemptible, on("b:0")), task("t3", 3, low, on("b:1,2,3")),
				task("t4", 4),
			}},
			want("preempt t1 for t4", "t4: slots are being released for it"),
		},
		"if it never fits there are no victims": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 2, low, preemptible, on("a:0,1")), task("t2", 2, low, on("a:2,3")), task("t3", 4),
			}},
			"t3: no free slots",
		},
		"a gang preempts on several machines": {
			Pool{Scheduler: on2, Agents: twice, Allocations: []Allocation{
				task("t1", 1, low, preemptible, on("a:0")), task("t2", 1, low, preemptible, on("b:3")), task("t3", 8),
			}},
			want("preempt t1 for t3", "preempt t2 for t3", "t3: slots are being released for it"),
		},
		"no further victims while enough is being released": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 2, low, preemptible, on("a:0,1"), releasing), task("t2", 2, low, preemptible, on("a:2,3")), task("t3", 2),
			}},
			"t3: slots are being released for it",
		},
		"further victims if too little is being released": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 2, low, preemptible, on("a:0,1"), releasing), task("t2", 2, low, preemptible, on("a:2,3")), task("t3", 4),
			}},
			want("preempt t2 for t3", "t3: slots are being released for it"),
		},
		"a released slot is promised once": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 2, low, preemptible, on("a:0,1"), releasing), task("t2", 2, low, preemptible, on("a:2,3")), task("t3", 2), task("t4", 2),
			}},
			want("preempt t2 for t4", "t3: slots are being released for it", "t4: slots are being released for it"),
		},
		"surplus slots of a victim serve the next": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 4, low, preemptible, on("a:0,1,2,3")), task("t2", 2), task("t3", 2),
			}},
			want("preempt t1 for t2", "t2: slots are being released for it", "t3: slots are being released for it"),
		},
		"free slots that belong to a promise are not given away": {
			Pool{Scheduler: on2, Agents: four, Allocations: []Allocation{
				task("t1", 2, low, preemptible, on("a:0,1")), task("t2", 4), task("t3", 1, priority(50), preemptible),
			}},
			want("preempt t1 for t2", "t2: slots are being released for it", "t3: no free slots"),
		},
		"disabled slots of a victim do not count": {
			Pool{Scheduler: on2, Agents: []Agent{{ID: "a", Enabled: true, Slots: []Slot{{ID: 0}, {ID: 1, Enabled: true}}}}, Allocations: []Allocation{
				task("t1", 1, low, preemptible, on("a:0")), task("t2", 1, priority(50), preemptible, on("a:1")), task("t3", 1),
			}},
			want("preempt t2 for t3", "t3: slots are being released for it"),
		},
		"an auxiliary task preempts an auxiliary task": {
			Pool{Scheduler: on2, MaxAux: 1, Agents: two, Allocations: []Allocation{
				task("t1", 0, low, preemptible, on("a")), task("t2", 2, low, preemptible, on("a:0,1")), task("t3", 0),
			}},
			want("preempt t1 for t3", "t3: slots are being released for it"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, c.pool, c.want)
		})
	}
}

func TestDecideDeadlines(t *testing.T) {
	t.Parallel()
	past := func(a *Allocation) { releasing(a); a.Deadline = noon }
	never := func(a *Allocation) { releasing(a); a.Deadline = time.Time{} }
	p := Pool{Agents: []Agent{machine("a", 4)}, Allocations: []Allocation{
		task("t1", 1, on("a:0"), past), task("t2", 1, on("a:1"), releasing), task("t3", 1, on("a:2"), never),
	}}
	d := Decide(p, noon)
	if diff := cmp.Diff(d.Kill, []AllocationID{"t1"}); diff != "" {
		t.Errorf("killed, got - want +\n%s", diff)
	}
	if !d.Wake.Equal(noon.Add(time.Hour)) {
		t.Errorf("got wake %v, want one hour after noon, when t2 is killed", d.Wake)
	}
}

func TestReusedInventoryIsUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := crowd(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))) //nolint:gosec // a test needs no secrecy
		want := Decide(p, noon)
		p.Inventory = TakeInventory(p.Agents, p.MaxAux)
		for range 2 { // the second decision uses the unchanged inventory
			if diff := cmp.Diff(want, Decide(p, noon)); diff != "" {
				t.Fatalf("(-without +with an inventory):\n%s", diff)
			}
		}
	})
}
