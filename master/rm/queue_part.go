package rm

import (
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// QueuePart selects a part of the jobs of a pool.
type QueuePart struct {
	// Pool is a pool's name; empty selects all pools, one after the other.
	Pool string
	// Job selects a single job; the other fields except Pool are then ignored.
	Job JobID
	// States selects the jobs in one of the states; empty selects all.
	States []string
	// Descending begins with the job that is served last.
	Descending bool
	// Cut returns the range to select of a number of jobs; nil selects all.
	Cut func(total int) (from, to int)
}

// CutQueue returns the selected part of list, the jobs in serving order. It modifies list.
func CutQueue[J any](p QueuePart, list []J, state func(J) apiv1.Job_State) []J {
	if len(p.States) > 0 {
		list = slices.DeleteFunc(list, func(j J) bool { return !slices.Contains(p.States, state(j).String()) })
	}
	if p.Descending {
		slices.Reverse(list)
	}
	if p.Cut == nil {
		return list
	}
	from, to := p.Cut(len(list))
	return list[from:to]
}
