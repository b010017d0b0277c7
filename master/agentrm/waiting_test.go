package agentrm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// decideWhole decides on all allocations, as if there were no lines.
func (s scene) decideWhole(p Pool, now time.Time) pool.Decision {
	snapshot, _ := s.snapshotPool(p, now)
	snapshot.Allocations = nil
	for _, a := range s.allocations {
		snapshot.Allocations = append(snapshot.Allocations, a.forScheduler())
	}
	return pool.Decide(snapshot, now)
}

// reasons returns the reasons of all waiting allocations as reported to their owners.
func (s scene) reasons() map[pool.AllocationID]pool.Reason {
	out := map[pool.AllocationID]pool.Reason{}
	for id, a := range s.allocations {
		if a.phase == Queued {
			out[pool.AllocationID(id)] = a.waitsFor()
		}
	}
	return out
}

// A pass that visits the heads of lines makes the same decision as one over all waiting allocations.
func TestIncrementalPassEqualsFullPass(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
		s, p := newScene(t, 1+random.IntN(6), 4)
		p.Scheduler.Preemption, p.MaxAux = random.IntN(2) == 0, random.IntN(4)
		began, n := time.Now(), 0
		for step := range 12 {
			for range random.IntN(25) {
				n++
				s.addRandom(t, random, n, began.Add(time.Duration(random.IntN(1000))*time.Second))
			}
			if step == 6 {
				s.moveRandom(t, random, n)
			}
			now := began.Add(time.Hour)
			want := s.decideWhole(p, now)
			snapshot, _ := s.snapshotPool(p, now)
			got := pool.Decide(snapshot, now)
			opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(pool.Decision{}, "Waiting")}
			if diff := cmp.Diff(want, got, opts); diff != "" {
				t.Fatalf("seed %d, step %d: (-of all +of lines)\n%s", seed, step, diff)
			}
			s.carryOut(p, got, now)
			if s.explainLines(p) {
				t.Errorf("seed %d, step %d: a pass sees too little of a line", seed, step)
			}
			reasons := map[pool.AllocationID]pool.Reason{}
			for _, w := range want.Waiting {
				reasons[w.Allocation] = w.Reason
			}
			if diff := cmp.Diff(reasons, s.reasons()); diff != "" {
				t.Fatalf("seed %d, step %d: why they wait (-of all +of lines)\n%s", seed, step, diff)
			}
			s.endSome(random)
		}
	}
}

func (s scene) addRandom(t *testing.T, random *rand.Rand, n int, submitted time.Time) {
	s.addQueued(t, rm.AllocationID(fmt.Sprintf("a%04d", n)), []int{0, 1, 1, 2, 4, 8}[random.IntN(6)], func(q *rm.Request) {
		q.Submitted, q.Priority = submitted, 41+random.IntN(3)
		q.Preemptible, q.SingleNode = random.IntN(3) == 0, random.IntN(3) == 0
		if random.IntN(4) == 0 {
			q.Job = rm.JobID(fmt.Sprint("job", random.IntN(3)))
		}
		if random.IntN(8) == 0 {
			q.MaxSlots = 4
		}
		if random.IntN(10) == 0 {
			q.ExcludedAgents = []rm.AgentID{"a00000"}
		}
	})
}

// moveRandom changes a job, which changes its position in its line.
func (s scene) moveRandom(t *testing.T, random *rand.Rand, n int) {
	t.Helper()
	id := rm.JobID(fmt.Sprintf("a%04d", 1+random.IntN(n)))
	if _, found := s.queue.Job(id); !found {
		return
	}
	priority := 41
	changed, err := s.queue.Change(id, rm.Change{Priority: &priority}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.moveWaiting(changed.Jobs...)
}

// endSome ends a third of the running allocations, and some waiting ones.
func (s scene) endSome(random *rand.Rand) {
	for _, id := range slices.Sorted(maps.Keys(s.allocations)) {
		a := s.allocations[id]
		switch {
		case a.phase == Placed && random.IntN(3) == 0:
			for _, c := range a.containers {
				delete(s.agents[c.agent].containers, c.id)
			}
			s.forget(a)
		case a.phase == Queued && random.IntN(20) == 0:
			s.runner.endAllocation(a, rm.CauseKilled, "killed")
			s.forget(a)
		}
	}
}

// BenchmarkPassOverALongQueue makes a pass over tasks that all wait for the same slots.
func BenchmarkPassOverALongQueue(b *testing.B) {
	costs := map[int]time.Duration{}
	for _, waiting := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			s, _ := newScene(b, 100, 8)
			for i := range waiting + 800 {
				s.addQueued(b, rm.AllocationID(fmt.Sprintf("a%06d", i)), 1)
			}
			s.runPass(time.Now())
			for b.Loop() {
				s.runPass(time.Now())
			}
			costs[waiting] = b.Elapsed() / time.Duration(b.N)
		})
	}
	if small, large := costs[1000], costs[100_000]; small > 0 && large > 2*small {
		b.Errorf("a pass takes %v with 1,000 tasks that wait and %v with 100,000", small, large)
	}
}

func (s scene) forget(a *allocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runner.forgetAllocation(a)
}
