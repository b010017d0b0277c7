package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/master/rm"
)

// plainList computes the result of List from scratch.
func plainList(q *Queue, pool string) []Line {
	var all []*Entry
	for _, e := range q.entries {
		if e.Pool == pool {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, q.compareEntries)
	var out []Line
	waiting := false
	for _, e := range all {
		i := slices.IndexFunc(out, func(l Line) bool { return l.Entries[0].Parent == e.Parent })
		if i < 0 {
			i = len(out)
			out = append(out, Line{Ahead: i})
		}
		l := &out[i]
		l.Entries = append(l.Entries, e)
		waiting = waiting || e.Stage != Running
		l.Running = l.Running || e.Stage == Running
		l.Backfilled = l.Backfilled || e.Stage == Running && waiting
	}
	return out
}

// drawStep makes a random change to a queue of some twenty allocations.
func drawStep(q *Queue, r *rand.Rand, step int) {
	job := rm.JobID(fmt.Sprint("job", r.IntN(12)))
	ids := make([]rm.AllocationID, 0, len(q.entries))
	for id := range q.entries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	switch n := r.IntN(10); {
	case n < 4 || len(ids) == 0:
		q.Adopt(rm.Request{
			Allocation: rm.AllocationID(fmt.Sprint(job, ".", step)), Job: job, Submitted: noon.Add(time.Duration(r.IntN(9)) * time.Second), Slots: 1,
		}, []string{"default", "other"}[r.IntN(2)], 41+r.IntN(3))
	case n < 6:
		q.entries[ids[r.IntN(len(ids))]].Stage = []Stage{Waiting, Starting, Running}[r.IntN(3)]
	case n < 8:
		q.End(ids[r.IntN(len(ids))])
		if r.IntN(4) == 0 {
			q.Restore(job, Settings{MovedTo: PositionAt(noon.Add(time.Duration(r.IntN(9)) * time.Second))})
		}
	case n < 9:
		_, _ = q.Change(job, rm.Change{Priority: ptr(41 + r.IntN(3))}, noon) // the job may not exist
	default:
		_, _ = q.Change(job, rm.Change{AheadOf: ptr(q.entries[ids[r.IntN(len(ids))]].Job)}, noon) // the job may be in another pool
	}
}

// After any changes, the cached results equal those computed from scratch.
func TestCachedListsEqualFreshOnes(t *testing.T) {
	t.Parallel()
	same := []cmp.Option{cmp.Comparer(func(a, b *Entry) bool { return a == b }), cmpopts.EquateEmpty()}
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 12))
		q := newQueue()
		for step := range 200 {
			drawStep(q, r, step)
			if r.IntN(3) > 0 {
				continue // several steps between two listings
			}
			wanted := []string{"default", "other"}
			all := slices.Concat(plainList(q, wanted[0]), plainList(q, wanted[1]))
			if d := cmp.Diff(slices.Concat(q.List(wanted[0]), q.List(wanted[1])), all, same...); d != "" {
				t.Fatalf("seed %d, step %d (-got +want):\n%s", seed, step, d)
			}
			for _, l := range plainList(q, wanted[0]) {
				got := q.Part(wanted[:1], rm.QueuePart{Job: l.Entries[0].Job})
				if d := cmp.Diff(got, []Line{l}, same...); d != "" {
					t.Fatalf("seed %d, step %d, job %s (-got +want):\n%s", seed, step, l.Entries[0].Job, d)
				}
			}
			part := rm.QueuePart{Descending: r.IntN(2) == 0, Cut: func(n int) (from, to int) {
				from = r.IntN(n + 1)
				return from, from + r.IntN(n-from+1)
			}}
			if r.IntN(3) == 0 {
				part.States = []string{"STATE_QUEUED", "STATE_SCHEDULED_BACKFILLED"}[:1+r.IntN(2)]
			}
			var from, to int
			cut := part.Cut
			part.Cut = func(n int) (int, int) { from, to = cut(n); return from, to }
			got := q.Part(wanted, part)
			part.Cut = func(int) (int, int) { return from, to }
			if d := cmp.Diff(got, rm.CutQueue(part, all, Line.State), same...); d != "" {
				t.Fatalf("seed %d, step %d, %d to %d of %+v (-got +want):\n%s", seed, step, from, to, part, d)
			}
		}
	}
}

// BenchmarkPage lists a page of a queue of n jobs after one more was submitted, and once more without a
// change.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{4_000, 40_000, 400_000} {
		q := newQueue()
		for i := range n {
			q.Adopt(request(fmt.Sprint("job", i), i), "default", 42)
		}
		part := rm.QueuePart{Cut: func(int) (from, to int) { return 0, 20 }}
		b.Run(fmt.Sprintf("%d_jobs/changed", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				q.Withdraw("last.1")
				q.Adopt(request("last", n+i), "default", 42)
				q.Part([]string{"default"}, part)
			}
		})
		b.Run(fmt.Sprintf("%d_jobs/again", n), func(b *testing.B) {
			for b.Loop() {
				q.Part([]string{"default"}, part)
			}
		})
	}
}
