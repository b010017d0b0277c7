package pods

import "github.com/det-deploy/det-deploy/master/rm"

// gravesLimit is how many ended allocations are remembered: more than a cluster
// ends in the minutes that a late submission could take.
const gravesLimit = 1 << 16

// graves remembers the allocations that ended last: one that its owner submits again
// before it has taken in its end must not run a second time.
type graves struct {
	known map[rm.AllocationID]bool
	order []rm.AllocationID
}

func (g *graves) add(id rm.AllocationID) {
	if g.known == nil {
		g.known = make(map[rm.AllocationID]bool)
	}
	if g.known[id] {
		return
	}
	if len(g.order) >= gravesLimit {
		delete(g.known, g.order[0])
		g.order = g.order[1:]
	}
	g.known[id] = true
	g.order = append(g.order, id)
}
