package gang

import (
	"fmt"
	"slices"
)

// yieldsTo returns the gang for which an earlier run of g was preempted, if it has not started yet, or nil.
func (p *pass) yieldsTo(g *Gang) *Gang {
	if g.State != Queued || p.unstarted[g.Yields] == nil || !p.isFuture(g.YieldsUntil) {
		return nil
	}
	return p.unstarted[g.Yields]
}

// serveYielding admits a gang that was preempted for another one, if that leaves the other one its room.
func (p *pass) serveYielding(g, first *Gang) Reason {
	s, f := p.board.shapeOf(g), p.board.shapeOf(first)
	closed := p.closedTo(g, s)
	if s.competesWith(f) {
		closed = closedAlso(closed, len(p.board.nodes), f.nodes)
	}
	shares := p.board.chooseNodes(p.board.free, s, g.Pods, closed)
	if shares == nil {
		shares = p.sharesBeside(g, first)
	}
	if shares == nil {
		return Reason{ForPriority, fmt.Sprintf("%s; it was preempted for a task of priority %d, which has not started yet", formatNeeds(g), first.Priority)}
	}
	return p.admitGang(g, shares, false)
}

// closedAlso returns closed, which may be nil, with more nodes.
func closedAlso(closed []bool, n int, also []int) []bool {
	out := make([]bool, n)
	copy(out, closed)
	for _, node := range also {
		out[node] = true
	}
	return out
}

// sharesBeside returns nodes for g if another gang fits now, and still fits beside g, or nil.
func (p *pass) sharesBeside(g, first *Gang) []share {
	b := p.board
	s, f := b.shapeOf(g), b.shapeOf(first)
	shares := b.chooseNodes(b.free, s, g.Pods, p.closedTo(g, s))
	rest := slices.Clone(b.free)
	for _, sh := range shares {
		for _, n := range s.needs {
			rest[sh.node*b.width+n.column] -= n.amount * int64(sh.pods)
		}
	}
	if b.countRoom(rest, f, first.Pods, nil) < first.Pods {
		return nil
	}
	return shares
}
