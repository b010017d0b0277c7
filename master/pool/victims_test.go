package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oneByOne implements choose literally: it tries each victim, then tries to spare each.
func oneByOne(v *victims, a *Allocation, r request) []*holding {
	units := slices.Clone(v.soon.units)
	change := func(h *holding, sign int) {
		for _, g := range h.gains {
			units[g.agent] += sign * g.units
		}
	}
	fits := func() bool {
		var h histogram
		for agent, n := range units {
			if !slices.Contains(r.exclude, agent) {
				h.addCount(n, 1)
			}
		}
		return h.fewestMachines(r.units, r.single, nil) > 0
	}
	var tried []*holding
	for _, h := range slices.Backward(v.running) {
		if h.asked || !mayPreempt(a, h) {
			continue
		}
		change(h, +1)
		if tried = append(tried, h); fits() {
			break
		}
	}
	if !fits() {
		return nil
	}
	for i, h := range slices.Backward(tried) {
		if change(h, -1); fits() {
			tried = slices.Delete(tried, i, i+1)
			continue
		}
		change(h, +1)
	}
	return tried
}

// crowd draws a pool that is almost full, with gangs among its allocations.
func crowd(r *rand.Rand) Pool {
	p := Pool{MaxAux: r.IntN(3), Scheduler: Scheduler{Preemption: true, Fitting: []Fitting{Best, Worst}[r.IntN(2)]}}
	for i := range 2 + r.IntN(9) {
		p.Agents = append(p.Agents, drawAgent(r, AgentID(fmt.Sprint("a", i))))
	}
	for i := range 40 {
		p.Allocations = append(p.Allocations, drawAllocation(r, i))
	}
	p = carryOut(p, Decide(Pool{Agents: p.Agents, MaxAux: p.MaxAux, Allocations: p.Allocations}, noon))
	p.Allocations = slices.DeleteFunc(p.Allocations, func(a Allocation) bool { return a.State == Pending })
	for i := range p.Allocations {
		p.Allocations[i].Priority += r.IntN(3)
		if r.IntN(10) == 0 {
			releasing(&p.Allocations[i])
		}
	}
	for i := range 20 {
		p.Allocations = append(p.Allocations, drawAllocation(r, 100+i))
	}
	return p
}

func TestVictimsEqualBruteForce(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := crowd(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))) //nolint:gosec // a test needs no secrecy
		for _, k := range []kind{auxiliary, slotted} {
			s := newPass(p, TakeInventory(p.Agents, p.MaxAux), inOrder(p.Allocations), k)
			for _, a := range s.pending {
				r := s.placeRequest(a)
				if _, ok := s.startOne(r); ok || s.promiseSlots(r) {
					continue
				}
				want := oneByOne(s.victims, a, r)
				if got := s.victims.choose(a, r); !slices.Equal(got, want) {
					t.Fatalf("%s: got %v, want %v", a.ID, names(got), names(want))
				}
				found += len(want)
				s.findVictims(a, r)
				s.promiseSlots(r)
			}
		}
	})
	if found == 0 {
		t.Error("no victim was needed in any pool")
	}
}

func names(hs []*holding) []AllocationID {
	var out []AllocationID
	for _, h := range hs {
		out = append(out, h.ID)
	}
	return out
}
