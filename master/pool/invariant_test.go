package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// world draws a pool whose running allocations were placed by Decide. Only the seed is drawn by rapid,
// which prefers small numbers: pools must be crowded for preemption to happen.
func world(t *rapid.T) Pool {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) //nolint:gosec // a test needs no secrecy
	p := Pool{
		MaxAux:    r.IntN(3),
		Scheduler: Scheduler{Preemption: r.IntN(3) > 0, Fitting: []Fitting{Best, Worst}[r.IntN(2)]},
	}
	for i := range 1 + r.IntN(4) {
		p.Agents = append(p.Agents, drawAgent(r, AgentID(fmt.Sprint("a", i))))
	}
	settled := Pool{Agents: p.Agents, MaxAux: p.MaxAux, Scheduler: Scheduler{Fitting: p.Scheduler.Fitting}}
	for i := range r.IntN(15) {
		settled.Allocations = append(settled.Allocations, drawAllocation(r, i))
	}
	for _, a := range carryOut(settled, Decide(settled, noon)).Allocations {
		if a.State == Running && r.IntN(8) == 0 {
			releasing(&a)
		}
		if a.State != Pending {
			a.Priority += r.IntN(3)
			p.Allocations = append(p.Allocations, a)
		}
	}
	for i := range r.IntN(7) {
		p.Allocations = append(p.Allocations, drawAllocation(r, 100+i))
	}
	if r.IntN(5) == 0 { // an operator disables an agent in between
		p.Agents[0].Enabled = false
	}
	return p
}

func drawAgent(r *rand.Rand, id AgentID) Agent {
	a := machine(id, []int{0, 1, 2, 4, 4, 8}[r.IntN(6)])
	a.Enabled, a.Draining = r.IntN(12) > 0, r.IntN(12) == 0
	for i := range a.Slots {
		a.Slots[i].Enabled, a.Slots[i].Draining = r.IntN(12) > 0, r.IntN(12) == 0
	}
	return a
}

func drawAllocation(r *rand.Rand, n int) Allocation {
	a := task(AllocationID(fmt.Sprint("t", n)), []int{0, 0, 1, 1, 1, 2, 2, 3, 4, 6, 8}[r.IntN(11)])
	number := r.IntN(9)
	a.Job = JobID(fmt.Sprint("j", number))
	a.MaxSlots = []int{2, 8, 0, 0, 0, 0, 0, 0, 0}[number] // a limit belongs to the job
	a.Priority = 41 + r.IntN(3)
	a.Position = Position(number * 7 % 10) // and so does the position
	a.Preemptible = r.IntN(3) > 0
	a.SingleNode = r.IntN(5) == 0
	if r.IntN(6) == 0 {
		a.Exclude = []AgentID{"a1"}
	}
	return a
}

// carryOut applies a decision. Killed allocations are removed.
func carryOut(p Pool, d Decision) Pool {
	p.Allocations = slices.Clone(p.Allocations)
	for i := range p.Allocations {
		a := &p.Allocations[i]
		for _, s := range d.Start {
			if s.Allocation == a.ID {
				a.State, a.Placement = Running, s.Placement
			}
		}
		for _, v := range d.Preempt {
			if v.Allocation == a.ID {
				releasing(a)
			}
		}
	}
	return p
}

// free counts the free units of every usable agent by brute force.
func free(p Pool, aux bool) map[AgentID]int {
	left := map[AgentID]int{}
	for _, a := range p.Agents {
		if !a.Enabled || a.Draining {
			continue
		}
		if aux {
			left[a.ID] = p.MaxAux
		} else {
			left[a.ID] = len(usableSlots(a))
		}
	}
	for _, a := range p.Allocations {
		if a.State == Pending || (a.Slots == 0) != aux {
			continue
		}
		for _, s := range a.Placement {
			if _, known := left[s.Agent]; !known {
				continue
			}
			left[s.Agent]--
			if !aux {
				left[s.Agent]++
				for _, id := range s.Slots {
					if slices.Contains(usableSlots(agentOf(p, s.Agent)), id) {
						left[s.Agent]--
					}
				}
			}
		}
	}
	return left
}

func agentOf(p Pool, id AgentID) Agent {
	return p.Agents[slices.IndexFunc(p.Agents, func(a Agent) bool { return a.ID == id })]
}

func allocationOf(p Pool, id AllocationID) Allocation {
	return p.Allocations[slices.IndexFunc(p.Allocations, func(a Allocation) bool { return a.ID == id })]
}

// fitsIn reports whether a would fit, by brute force.
func fitsIn(left map[AgentID]int, a Allocation) bool {
	units := max(a.Slots, 1)
	for parts := 1; parts <= units; parts++ {
		if units%parts != 0 || (a.SingleNode && parts > 1) {
			continue
		}
		n := 0
		for id, have := range left {
			if have >= units/parts && !slices.Contains(a.Exclude, id) {
				n++
			}
		}
		if n >= parts {
			return true
		}
	}
	return false
}

func TestEveryDecisionKeepsTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := world(t)
		d := Decide(p, noon)
		after := carryOut(p, d)
		checkPlacements(t, p, d)
		checkLimits(t, after, d)
		checkOrder(t, p, after, d)
		checkVictims(t, p, d)
		checkComplete(t, p, d)
	})
}

// checkPlacements fails if a slot is used twice, a gang is incomplete, or a disabled agent or slot is
// used.
func checkPlacements(t *rapid.T, p Pool, d Decision) {
	type place struct {
		agent AgentID
		slot  int
	}
	taken := map[place]AllocationID{}
	for _, a := range p.Allocations {
		for _, s := range a.Placement {
			for _, id := range s.Slots {
				taken[place{s.Agent, id}] = a.ID
			}
		}
	}
	for _, s := range d.Start {
		a, n := allocationOf(p, s.Allocation), 0
		for _, share := range s.Placement {
			agent := agentOf(p, share.Agent)
			if !agent.Enabled || agent.Draining || slices.Contains(a.Exclude, share.Agent) {
				t.Fatalf("%s is started on %s, which must not be used", a.ID, share.Agent)
			}
			if len(share.Slots) != len(s.Placement[0].Slots) {
				t.Fatalf("%s is split unequally: %v", a.ID, s.Placement)
			}
			for _, id := range share.Slots {
				if other, used := taken[place{share.Agent, id}]; used {
					t.Fatalf("slot %d of %s is given to %s and %s", id, share.Agent, other, a.ID)
				}
				if !slices.Contains(usableSlots(agent), id) {
					t.Fatalf("slot %d of %s is off, and given to %s", id, share.Agent, a.ID)
				}
				taken[place{share.Agent, id}] = a.ID
				n++
			}
		}
		if n != a.Slots || len(s.Placement) == 0 || (a.SingleNode && len(s.Placement) > 1) {
			t.Fatalf("%s asks for %d slots and gets %v", a.ID, a.Slots, s.Placement)
		}
	}
}

func checkLimits(t *rapid.T, after Pool, d Decision) {
	held := map[JobID]int{}
	for _, a := range after.Allocations {
		if a.State != Pending {
			held[a.Job] += a.Slots
		}
	}
	for _, s := range d.Start {
		if a := allocationOf(after, s.Allocation); a.MaxSlots > 0 && held[a.Job] > a.MaxSlots {
			t.Fatalf("job %s holds %d slots of at most %d", a.Job, held[a.Job], a.MaxSlots)
		}
	}
	for id, left := range free(after, true) {
		if left < 0 {
			t.Fatalf("%s runs %d auxiliary containers too many", id, -left)
		}
	}
}

// checkOrder fails if an allocation was started ahead of an earlier one that fits.
func checkOrder(t *rapid.T, p, after Pool, d Decision) {
	promised := slices.ContainsFunc(d.Waiting, func(w Waiting) bool { return w.Reason == ForRelease })
	for _, w := range d.Waiting {
		a := allocationOf(p, w.Allocation)
		if w.Reason != ForSlots && w.Reason != ForRelease {
			continue
		}
		// Slots that are set aside for another allocation are not free. Where there are promises, only
		// the allocations that were started behind a are undone.
		world := after
		if promised {
			world = carryOut(p, aheadOf(p, d, a))
			if slices.ContainsFunc(d.Waiting, func(o Waiting) bool {
				other := allocationOf(p, o.Allocation)
				return o.Reason == ForRelease && compareOrder(&other, &a) < 0
			}) {
				continue
			}
		}
		if fitsIn(free(world, a.Slots == 0), a) {
			t.Fatalf("%s waits (%s) although it fits", a.ID, w.Reason)
		}
	}
	for _, s := range d.Start {
		started := allocationOf(p, s.Allocation)
		for _, w := range d.Waiting {
			a := allocationOf(p, w.Allocation)
			blocks := (w.Reason == ForSlots || w.Reason == ForRelease) && (a.Slots == 0) == (started.Slots == 0)
			if blocks && a.Priority < started.Priority && (!p.Scheduler.Preemption || !started.Preemptible) {
				t.Fatalf("%s starts before %s of higher priority and is not preemptible", started.ID, a.ID)
			}
		}
	}
}

func aheadOf(p Pool, d Decision, a Allocation) Decision {
	return Decision{Start: slices.DeleteFunc(slices.Clone(d.Start), func(s Start) bool {
		other := allocationOf(p, s.Allocation)
		return compareOrder(&other, &a) > 0
	})}
}

// checkVictims fails if a victim may not be preempted or is not needed, or if the victims are not
// enough.
func checkVictims(t *rapid.T, p Pool, d Decision) {
	if len(d.Preempt) > 0 && !p.Scheduler.Preemption {
		t.Fatal("preemption is off")
	}
	seen := map[AllocationID]bool{}
	for _, v := range d.Preempt {
		victim, requester := allocationOf(p, v.Allocation), allocationOf(p, v.For)
		behind := victim.Priority > requester.Priority ||
			(victim.Priority == requester.Priority && victim.Job != requester.Job && victim.Position > requester.Position)
		if seen[v.Allocation] || victim.State != Running || !victim.Preemptible || !behind {
			t.Fatalf("%s must not be preempted for %s", v.Allocation, v.For)
		}
		seen[v.Allocation] = true
	}
	needers := map[AllocationID]bool{}
	for _, v := range d.Preempt {
		needers[v.For] = true
	}
	promises := 0
	for _, w := range d.Waiting {
		if w.Reason == ForRelease {
			promises++
		}
	}
	if len(needers) != 1 || promises != 1 {
		return // with several promises, whether a victim is needed depends on the others
	}
	checkNeeded(t, p, d, allocationOf(p, d.Preempt[0].For))
}

func checkNeeded(t *rapid.T, p Pool, d Decision, requester Allocation) {
	gone := func(spared AllocationID) map[AgentID]int {
		world := carryOut(p, aheadOf(p, d, requester))
		world.Allocations = slices.DeleteFunc(world.Allocations, func(a Allocation) bool {
			asked := slices.ContainsFunc(d.Preempt, func(v Preempt) bool { return v.Allocation == a.ID })
			return a.State == Releasing || (asked && a.ID != spared)
		})
		return free(world, requester.Slots == 0)
	}
	if !fitsIn(gone(""), requester) {
		t.Fatalf("%s does not fit even without its victims", requester.ID)
	}
	for _, v := range d.Preempt {
		if fitsIn(gone(v.Allocation), requester) {
			t.Fatalf("%s is a needless victim of %s", v.Allocation, requester.ID)
		}
	}
}

// checkComplete fails if a pending allocation neither starts nor has a reason to wait.
func checkComplete(t *rapid.T, p Pool, d Decision) {
	pending := 0
	for _, a := range p.Allocations {
		if a.State == Pending {
			pending++
		}
	}
	if got := len(d.Start) + len(d.Waiting); got != pending {
		t.Fatalf("%d of %d pending allocations are decided", got, pending)
	}
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := world(t)
		first := Decide(p, noon)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) //nolint:gosec // a test needs no secrecy
		r.Shuffle(len(p.Agents), func(i, j int) { p.Agents[i], p.Agents[j] = p.Agents[j], p.Agents[i] })
		r.Shuffle(len(p.Allocations), func(i, j int) { p.Allocations[i], p.Allocations[j] = p.Allocations[j], p.Allocations[i] })
		if diff := cmp.Diff(Decide(p, noon), first); diff != "" {
			t.Fatalf("shuffled input decides differently, got - want +\n%s", diff)
		}
	})
}

// Every waiting allocation is served eventually: with decision after decision carried out, preempted
// allocations stopping and others ending, the queue empties.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := world(t)
		for round := range 200 {
			d := Decide(p, noon)
			p = carryOut(p, d)
			if done := endOne(&p, round); done {
				break
			}
		}
		for _, w := range Decide(p, noon).Waiting {
			if w.Reason == ForSlots || w.Reason == ForRelease || w.Reason == ForPriority {
				t.Fatalf("%s still waits: %s", w.Allocation, w.Reason)
			}
		}
	})
}

// endOne ends the releasing allocations or, without any, a running one.
func endOne(p *Pool, round int) bool {
	before := len(p.Allocations)
	p.Allocations = slices.DeleteFunc(p.Allocations, func(a Allocation) bool { return a.State == Releasing })
	if len(p.Allocations) < before {
		return false
	}
	for i := range p.Allocations {
		at := (i + round) % len(p.Allocations)
		if p.Allocations[at].State == Running {
			p.Allocations = slices.Delete(p.Allocations, at, at+1)
			return false
		}
	}
	return true
}

// BenchmarkDecide checks that a pass over 10,000 waiting tasks and 1,000 agents of 8 slots takes less
// than 25 ms, and one over 100,000 and 10,000 less than 500 ms, with all sizes of tasks and with whole
// machines only. It fails if the cost per task of a storm grows with the size of the storm.
func BenchmarkDecide(b *testing.B) {
	var grown measure.Growth
	for _, c := range []struct {
		name string
		pool Pool
	}{
		{"idle", bench(0, false)},
		{"full", bench(8, false)},
		{"full-preempt", bench(8, true)},
		{"half-preempt", bench(4, true)},
		{"mostly-preempt", bench(7, true)},
		{"small-storm", storm(load{agents: 100, pending: 1_000, used: 8, preemption: true, slots: sizes()}.draw())},
		{"storm", storm(bench(8, true))},
		{"large-idle-whole", load{agents: 10_000, pending: 10_000, slots: []int{8}}.draw()},
		{"large-storm", storm(load{agents: 10_000, pending: 100_000, used: 8, preemption: true, slots: sizes()}.draw())},
		{"large-storm-whole", storm(load{agents: 10_000, pending: 100_000, used: 8, preemption: true, slots: []int{8}}.draw())},
	} {
		b.Run(c.name, func(b *testing.B) {
			began := measure.Processor()
			for b.Loop() {
				Decide(c.pool, noon)
			}
			pass := (measure.Processor() - began).Seconds() * 1000 / float64(b.N)
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/pass")
			b.ReportMetric(pass, "ms-cpu/pass")
			if strings.HasSuffix(c.name, "storm") {
				grown.See("the pass over a storm", len(c.pool.Allocations), pass, 5)
			}
		})
	}
	if err := grown.Err(); err != nil {
		b.Error(err)
	}
}

// storm is the worst case: everything that runs makes room for waiting tasks.
func storm(p Pool) Pool {
	for i := range p.Allocations {
		a := &p.Allocations[i]
		if a.State == Running {
			a.Priority, a.Preemptible = 60+i%30, true
		}
	}
	return p
}

func bench(used int, preemption bool) Pool {
	return load{agents: 1000, pending: 10_000, used: used, preemption: preemption, slots: sizes()}.draw()
}

// sizes are the slots of the tasks of a mixed load.
func sizes() []int { return []int{0, 1, 2, 3, 4, 8, 16, 32, 64} }

// load is a pool of agents of 8 slots, some of them used by tasks of one slot each.
type load struct {
	agents, pending, used int
	preemption            bool
	slots                 []int
}

func (l load) draw() Pool {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same load in every run
	p := Pool{MaxAux: 10, Scheduler: Scheduler{Preemption: l.preemption, Fitting: Best}}
	for i := range l.agents {
		id := AgentID(fmt.Sprintf("agent-%04d", i))
		p.Agents = append(p.Agents, machine(id, 8))
		for s := range l.used {
			a := task(AllocationID(fmt.Sprintf("r%d-%d", i, s)), 1, on(fmt.Sprintf("%s:%d", id, s)), priority(40+r.IntN(20)))
			a.Preemptible = r.IntN(4) > 0
			p.Allocations = append(p.Allocations, a)
		}
	}
	for i := range l.pending {
		a := task(AllocationID(fmt.Sprintf("t%d", i)), l.slots[r.IntN(len(l.slots))], priority(30+r.IntN(30)))
		a.Submitted = noon.Add(time.Duration(r.IntN(1e9)))
		a.Preemptible = r.IntN(2) > 0
		if r.IntN(50) == 0 {
			a.Exclude = []AgentID{"agent-0003", "agent-0500"}
		}
		p.Allocations = append(p.Allocations, a)
	}
	return p
}
