package queue

import "github.com/det-deploy/det-deploy/master/rm"

// endedLimit is the number of ended allocations that are remembered: about a minute's worth at the
// highest rate that agents can serve, and many minutes' worth on Kubernetes.
const endedLimit = 1 << 16

// ended remembers the most recently ended allocations.
type ended struct {
	known map[rm.AllocationID]bool
	order []rm.AllocationID
}

func (e *ended) has(id rm.AllocationID) bool { return e.known[id] }

func (e *ended) add(id rm.AllocationID) {
	if e.known == nil {
		e.known = make(map[rm.AllocationID]bool)
	}
	if e.known[id] {
		return
	}
	if len(e.order) >= endedLimit {
		delete(e.known, e.order[0])
		e.order = e.order[1:]
	}
	e.known[id] = true
	e.order = append(e.order, id)
}
