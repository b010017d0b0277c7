package pool

import (
	"cmp"
	"slices"
)

// Position is a place in the queue of one priority; smaller ones are ahead.
type Position int64

// compareOrder orders allocations as they are served: by priority, queue position and time, and by id so
// that no two are equal.
func compareOrder(a, b *Allocation) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.Position, b.Position),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.ID, b.ID),
	)
}

func inOrder(allocations []Allocation) []*Allocation {
	out := make([]*Allocation, len(allocations))
	for i := range allocations {
		out[i] = &allocations[i]
	}
	slices.SortFunc(out, compareOrder)
	return out
}
