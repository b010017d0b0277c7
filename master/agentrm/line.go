package agentrm

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/master/pool"
)

// alike is what the allocations of a line have in common: whichever of them stands first is the one
// that is placed.
type alike struct {
	slots, priority     int
	single, preemptible bool
	needs               needs
}

// line is allocations in the order in which they are served.
type line struct {
	members []*allocation
	// passes counts those that looked at it; last is the last that the latest saw, and reason why those
	// behind it wait.
	passes uint64
	last   *allocation
	reason pool.Reason
}

// compareWaiting is the order of master/pool among allocations of one priority.
func compareWaiting(a, b *allocation) int {
	return cmp.Or(
		cmp.Compare(a.Parent.Position(), b.Parent.Position()),
		a.Submitted.Compare(b.Submitted),
		cmp.Compare(a.Allocation, b.Allocation),
	)
}

// remove takes an allocation out. Those before it are moved if they are fewer.
func (l *line) remove(a *allocation) {
	at, found := slices.BinarySearchFunc(l.members, a, compareWaiting)
	if !found {
		at = slices.Index(l.members, a) // its job has another place now
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

// showFirst appends the first n for a pass.
func (l *line) showFirst(to []*allocation, n int) []*allocation {
	l.passes++
	l.last = nil
	for _, a := range l.members[:min(n, len(l.members))] {
		a.shownIn, l.last = l.passes, a
		to = append(to, a)
	}
	return to
}
