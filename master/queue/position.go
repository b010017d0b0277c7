package queue

import "time"

// Position is a place in the queue of one priority; the smaller is ahead.
type Position int64

// gap is what lies between a moved job and the end of its queue.
const gap = Position(time.Second)

// PositionAt is where a job submitted at t queues: in nanoseconds, so that between two
// jobs there is room to move others.
func PositionAt(t time.Time) Position { return Position(t.UnixNano()) }

func firstOf(a, b Position) Position {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// positionBetween returns a position strictly between two. It reports false when there is none;
// the queue is then given new positions by respace.
func positionBetween(a, b Position) (Position, bool) {
	mid := a + (b-a)/2
	return mid, a < mid && mid < b
}

// spreadPositions returns n positions in order that end at last, each a millisecond apart, for a
// queue in which moves have used up the room between neighbours.
func spreadPositions(n int, last Position) []Position {
	out := make([]Position, n)
	for i := range out {
		out[i] = last - Position(n-1-i)*Position(time.Millisecond)
	}
	return out
}

// positionBefore finds a position before jobs[at], or behind the last.
func positionBefore(jobs []*Job, at int) (Position, bool) {
	switch at {
	case 0:
		return jobs[0].Position() - gap, true
	case len(jobs):
		return jobs[at-1].Position() + gap, true
	}
	return positionBetween(jobs[at-1].Position(), jobs[at].Position())
}
