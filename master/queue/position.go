package queue

import "time"

// Position is a place in the queue of one priority; smaller ones are ahead.
type Position int64

// gap is the distance between a moved job and the end of its queue.
const gap = Position(time.Second)

// PositionAt returns the position of a job submitted at t. It is in nanoseconds, so that there is room
// between two jobs to move others there.
func PositionAt(t time.Time) Position { return Position(t.UnixNano()) }

func firstOf(a, b Position) Position {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// positionBetween returns a position strictly between two. It reports false if they are adjacent; moveBeside
// then assigns new positions with spreadPositions.
func positionBetween(a, b Position) (Position, bool) {
	mid := a + (b-a)/2
	return mid, a < mid && mid < b
}

// spreadPositions returns n ascending positions a millisecond apart, the last of them last, for a queue
// in which moves have used up the room between neighbours.
func spreadPositions(n int, last Position) []Position {
	out := make([]Position, n)
	for i := range out {
		out[i] = last - Position(n-1-i)*Position(time.Millisecond)
	}
	return out
}

// positionBefore returns a position before jobs[at], or behind the last job. It reports false if there
// is no room.
func positionBefore(jobs []*Job, at int) (Position, bool) {
	switch at {
	case 0:
		return jobs[0].Position() - gap, true
	case len(jobs):
		return jobs[at-1].Position() + gap, true
	}
	return positionBetween(jobs[at-1].Position(), jobs[at].Position())
}
