package agentrm

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// inLines returns the allocations that wait in lines, each line in order.
func (s scene) inLines() (out []rm.AllocationID) {
	for _, w := range s.waiting {
		for _, l := range w.lines {
			for _, a := range l.members {
				out = append(out, a.Allocation)
			}
		}
	}
	return out
}

func (s scene) kill(id rm.AllocationID) {
	a := s.allocations[id]
	s.runner.endAllocation(a, rm.CauseKilled, "killed")
	s.runner.forgetAllocation(a)
}

func submittedAt(at time.Time) func(*rm.Request) {
	return func(q *rm.Request) { q.Submitted = at }
}

// An allocation that is killed behind a long-waiting task is removed before that task starts.
func TestKilledAllocationLeavesItsLine(t *testing.T) {
	t.Parallel()
	s, _ := newScene(t, 1, 1)
	began := time.Now()
	for i := range 300 {
		s.addQueued(t, rm.AllocationID(fmt.Sprintf("a%03d", i)), 2, submittedAt(began.Add(time.Duration(i)*time.Second)))
	}
	s.runPass(began.Add(time.Hour))
	for i := range 300 {
		if i%100 != 50 {
			s.kill(rm.AllocationID(fmt.Sprintf("a%03d", i)))
		}
	}
	s.runPass(began.Add(time.Hour))
	if diff := cmp.Diff([]rm.AllocationID{"a050", "a150", "a250"}, s.inLines()); diff != "" {
		t.Errorf("in line (-want +got):\n%s", diff)
	}
}

// A job that has lost its position with its last task does not disturb the order of later ones.
func TestQueueOrderSurvivesKills(t *testing.T) {
	t.Parallel()
	s, _ := newScene(t, 1, 1)
	began := time.Now()
	add := func(id rm.AllocationID, second int) {
		s.addQueued(t, id, 2, submittedAt(began.Add(time.Duration(second)*time.Second)))
	}
	add("a", 1)
	add("c", 3)
	add("d", 4)
	add("e", 5)
	s.kill("d")
	add("b", 2)
	if diff := cmp.Diff([]rm.AllocationID{"a", "b", "c", "e"}, s.inLines()); diff != "" {
		t.Errorf("in line (-want +got):\n%s", diff)
	}
}

// A change of one job moves its own tasks only.
func TestChangedJobMovesInQueue(t *testing.T) {
	t.Parallel()
	for _, tasks := range []int{1, fewMoved + 1} {
		s, _ := newScene(t, 1, 1)
		began := time.Now()
		for i, id := range []rm.AllocationID{"a", "b", "c"} {
			s.addQueued(t, id, 2, submittedAt(began.Add(time.Duration(i)*time.Second)))
		}
		var last []rm.AllocationID
		for i := range tasks {
			last = append(last, rm.AllocationID(fmt.Sprintf("z%02d", i)))
			s.addQueued(t, last[i], 2, submittedAt(began.Add(time.Minute)), func(q *rm.Request) { q.Job = "z" })
		}
		ahead := rm.JobID("b")
		changed, err := s.queue.Change("z", rm.Change{AheadOf: &ahead}, began)
		if err != nil {
			t.Fatal(err)
		}
		s.moveWaiting(changed.Jobs...)
		want := append(append([]rm.AllocationID{"a"}, last...), "b", "c")
		if diff := cmp.Diff(want, s.inLines()); diff != "" {
			t.Errorf("in line (-want +got):\n%s", diff)
		}
	}
}

// A decision about an allocation that was moved to another pool meanwhile is not carried out.
func TestMovedAllocationIsNotPlacedInItsFormerPool(t *testing.T) {
	t.Parallel()
	s, p := newScene(t, 1, 4)
	s.addQueued(t, "a", 1)
	now := time.Now()
	snapshot, _ := s.snapshotPool(p, now)
	d := pool.Decide(snapshot, now)
	if len(d.Start) != 1 {
		t.Fatalf("%d tasks are to start, want 1", len(d.Start))
	}
	a := s.allocations["a"]
	a.Pool = "other"
	s.lineUpWaiting()
	s.carryOut(p, d, now)
	if a.phase != Queued {
		t.Errorf("the task is %v, want queued: it is in another pool", a.phase)
	}
}

// An allocation that was placed in a pool other than the requested one is visited there only.
func TestRestoredTaskKeepsItsPool(t *testing.T) {
	t.Parallel()
	s, p := newScene(t, 1, 4)
	r := &records{state: s.state}
	q := rm.Request{Allocation: "a", Task: "a", Job: "a", Slots: 1, MaxSlots: 4, Submitted: time.Now()}
	r.restoreAllocation(allocationDoc{Request: q, Pool: "former", PlacedAt: time.Now()})
	if snapshot, _ := s.snapshotPool(p, time.Now()); len(snapshot.Allocations) != 0 {
		t.Errorf("pool %q has %d tasks, want none", p.Name, len(snapshot.Allocations))
	}
	s.runner.forgetAllocation(s.allocations["a"])
	for name, w := range s.waiting {
		if len(w.single) != 0 {
			t.Errorf("pool %q keeps a task that has ended", name)
		}
	}
}

// BenchmarkChangeOfAJob changes one of many waiting jobs.
func BenchmarkChangeOfAJob(b *testing.B) {
	costs := map[int]time.Duration{}
	for _, waiting := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			s, _ := newScene(b, 1, 1)
			began := time.Now()
			for i := range waiting {
				s.addQueued(b, rm.AllocationID(fmt.Sprintf("a%06d", i)), 1, submittedAt(began.Add(time.Duration(i))))
			}
			n := 0
			for b.Loop() {
				n++
				priority := 41 + n%2
				changed, err := s.queue.Change(rm.JobID(fmt.Sprintf("a%06d", n*7919%waiting)), rm.Change{Priority: &priority}, began)
				if err != nil {
					b.Fatal(err)
				}
				s.moveWaiting(changed.Jobs...)
			}
			costs[waiting] = b.Elapsed() / time.Duration(b.N)
		})
	}
	// The pointers behind the position are moved in memory: 8 bytes each.
	if small, large := costs[1000], costs[100_000]; small > 0 && large > 50*small {
		b.Errorf("a change takes %v with 1,000 jobs that wait and %v with 100,000", small, large)
	}
}
