package rm

import (
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// QueuePart asks for a part of the jobs of a pool.
type QueuePart struct {
	// Pool is all pools, one after the other, when it is empty.
	Pool string
	// States leaves in the jobs in one of them; empty leaves in all.
	States []string
	// Descending begins with the job that is served last.
	Descending bool
	// Cut says which part of so many is wanted; nil wants all.
	Cut func(total int) (from, to int)
}

// CutQueue is the part of jobs in the order in which they are served. It changes list.
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
