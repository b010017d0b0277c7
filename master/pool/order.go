package pool

import (
	"cmp"
	"slices"
	"time"
)

// Position is a place in the queue of one priority; the smaller is ahead.
type Position int64

// PositionAt is where a job submitted at t queues: in nanoseconds, so that
// between two jobs there is room to move others.
func PositionAt(t time.Time) Position { return Position(t.UnixNano()) }

// Between returns a position strictly between two. It reports false when there
// is none; the queue is then given new positions with Respace.
func Between(a, b Position) (Position, bool) {
	mid := a + (b-a)/2
	return mid, a < mid && mid < b
}

// Respace returns n positions in order that end at last, each a millisecond
// apart, for a queue in which moves have used up the room between neighbours.
func Respace(n int, last Position) []Position {
	out := make([]Position, n)
	for i := range out {
		out[i] = last - Position(n-1-i)*Position(time.Millisecond)
	}
	return out
}

// compare orders allocations as they are served: priority, queue position,
// time, and the id so that no two are equal.
func compare(a, b *Allocation) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.Position, b.Position),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.ID, b.ID),
	)
}

// Job is one line of a pool's queue.
type Job struct {
	ID        JobID
	Priority  int
	Position  Position
	Submitted time.Time
	// Requested is what the job's allocations ask for, Allocated what they hold.
	Requested   int
	Allocated   int
	Preemptible bool
	// Ahead counts the jobs of the pool that are served before this one.
	Ahead int
	// Backfilled says that the job runs although one ahead of it waits.
	Backfilled bool
}

// Queue lists the jobs of a pool in the order in which they are served. A job
// stands where its first allocation stands.
func Queue(allocations []Allocation) []Job {
	jobs := make(map[JobID]int, len(allocations))
	var out []Job
	waiting := false
	for _, a := range inOrder(allocations) {
		i, known := jobs[a.Job]
		if !known {
			i = len(out)
			jobs[a.Job] = i
			out = append(out, Job{
				ID: a.Job, Priority: a.Priority, Position: a.Position, Submitted: a.Submitted,
				Preemptible: a.Preemptible, Ahead: i,
			})
		}
		j := &out[i]
		j.Requested += a.Slots
		if a.State == Pending {
			waiting = true
			continue
		}
		j.Allocated += a.Slots
		j.Backfilled = j.Backfilled || waiting
	}
	return out
}

func inOrder(allocations []Allocation) []*Allocation {
	out := make([]*Allocation, len(allocations))
	for i := range allocations {
		out[i] = &allocations[i]
	}
	slices.SortFunc(out, compare)
	return out
}
