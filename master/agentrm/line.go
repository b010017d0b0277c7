package agentrm

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/master/pool"
)

// alike is the properties that all allocations of a line share: any of them could be placed in the same
// way, so that the first one is served first.
type alike struct {
	slots, priority     int
	single, preemptible bool
	needs               needs
}

// line is a list of similar allocations in serving order.
type line struct {
	members []*allocation
	// passes counts the passes that included the line; last is the last allocation that the latest one
	// included, and reason is why the allocations behind it wait.
	passes uint64
	last   *allocation
	reason pool.Reason
}

// compareWaiting orders allocations of one priority like master/pool.
func compareWaiting(a, b *allocation) int {
	return cmp.Or(
		cmp.Compare(a.Parent.Position(), b.Parent.Position()),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.Allocation, b.Allocation),
	)
}

// remove removes an allocation. It moves the allocations before it or those behind it, whichever are
// fewer.
func (l *line) remove(a *allocation) {
	at, found := slices.BinarySearchFunc(l.members, a, compareWaiting)
	if !found {
		at = slices.Index(l.members, a) // its job has another position now
	}
	switch {
	case at < 0:
	case at < len(l.members)/2:
		copy(l.members[1:], l.members[:at])
		l.members[0] = nil
		l.members = l.members[1:]
	default:
		l.members = slices.Delete(l.members, at, at+1)
	}
}

// showFirst appends the first n allocations for a pass.
func (l *line) showFirst(to []*allocation, n int) []*allocation {
	l.passes++
	l.last = nil
	for _, a := range l.members[:min(n, len(l.members))] {
		a.shownIn, l.last = l.passes, a
		to = append(to, a)
	}
	return to
}
