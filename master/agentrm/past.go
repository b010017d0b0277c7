package agentrm

import "github.com/det-deploy/det-deploy/master/rm"

// pastLimit is how many ended allocations are remembered: those of about a
// minute at the highest rate that agents can serve.
const pastLimit = 1 << 16

// past remembers the allocations that ended last. An owner that submits after a
// restart what it has not heard the end of may be told of that end in between;
// without this its task would run a second time.
type past struct {
	known map[rm.AllocationID]bool
	order []rm.AllocationID
}

func (p *past) add(id rm.AllocationID) {
	if p.known == nil {
		p.known = make(map[rm.AllocationID]bool)
	}
	if p.known[id] {
		return
	}
	if len(p.order) >= pastLimit {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
	p.known[id] = true
	p.order = append(p.order, id)
}
