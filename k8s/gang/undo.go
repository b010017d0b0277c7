package gang

import (
	"fmt"
	"hash/fnv"
	"time"
)

// bindGang gives a gang that was let go the room of its pods that have no node yet,
// or takes the try back when it has lasted too long.
func (p *pass) bindGang(g *Gang) {
	if limit, runs := p.limitOf(g); runs && !p.isFuture(limit) {
		p.decision.Waiting[g.ID] = p.undoGang(g, p.countUnbound(g))
		return
	}
	if p.triedInVain(g) {
		p.decision.Waiting[g.ID] = p.undoRefused(g)
		return
	}
	s, left := p.board.shapeOf(g), g.Pods-g.boundPods()
	n := p.board.countRoom(p.board.free, s, left, nil)
	p.decision.Waiting[g.ID] = Reason{ForScheduler, p.countUnbound(g)}
	if g.Ungated && n < left && p.seesAll() {
		p.decision.Waiting[g.ID] = p.explainLostRoom(g, s)
		if g.Trouble != "" {
			p.undoUntil(g, p.countUnbound(g), p.now)
			return
		}
	}
	p.handOver(left, g.Since)
	if n > 0 {
		p.board.takeRoom(s, p.board.chooseNodes(p.board.free, s, n, nil))
	}
}

// explainLostRoom says what a gang without gates waits for when pods of others have come between
// the decision to make it and the scheduler. With gates that is seen before they are taken away.
// When the scheduler has refused it a pod, it is undone at once, and has gates the next time. It
// need not pause: it is not made again before there is room.
func (p *pass) explainLostRoom(g *Gang, s *shape) Reason {
	if !p.board.holdsPods(s, g.Pods) {
		return p.forCapacity(g, s)
	}
	return p.forRoom(g, s)
}

// handOver counts pods that the scheduler has, as long as it can be expected to place
// them.
func (p *pass) handOver(n int, since time.Time) {
	until := since.Add(p.options.Limit)
	if !until.After(p.now) {
		return
	}
	p.unplaced += n
	if p.next.IsZero() || until.Before(p.next) {
		p.next = until
	}
}

// limitOf is when a gang that has not got all of its pods, or a node for each, is
// undone. Part of a gang keeps others from what it holds; one that Kubernetes has
// said nothing about holds nothing yet, and its turn may be late where thousands of
// pods are made or placed at once. Where nodes are not known it stays for ever.
func (p *pass) limitOf(g *Gang) (at time.Time, runs bool) {
	binds, holds := g.State == Binding, g.State == Binding && g.boundPods() > 0
	switch {
	case binds && g.Stretched:
		return g.Since.Add(p.options.ScaleLimit), true
	case holds:
		return g.FirstBound.Add(p.options.Limit), true
	case binds && !p.options.NodesKnown:
		return at, false
	case g.Trouble == "":
		return g.Since.Add(p.options.ScaleLimit), true
	}
	return g.Since.Add(p.options.Limit), true
}

// undoGang takes a try back, and has the gang pause.
func (p *pass) undoGang(g *Gang, why string) Reason {
	return p.undoUntil(g, why, p.now.Add(p.options.pauseAfter(g.ID, g.Undone)))
}

// undoRefused takes back a try that the scheduler has refused. Where nodes are known a
// lesson of each keeps the gang from being tried again: it need not pause, and can ask
// others to make room.
func (p *pass) undoRefused(g *Gang) Reason {
	if !p.options.NodesKnown {
		return p.undoGang(g, p.countUnbound(g))
	}
	return p.undoUntil(g, p.countUnbound(g), p.now)
}

// undoUntil takes a try back.
func (p *pass) undoUntil(g *Gang, why string, until time.Time) Reason {
	p.decision.Undo = append(p.decision.Undo, Undo{Gang: g.ID, Until: until, Reason: why})
	p.board.giveBack(g)
	return Reason{ForBackOff, why + "; all of them are deleted"}
}

// pauseAfter is how long a gang waits after so many undone tries. It doubles, and each
// gang's is shorter by up to half, always by the same, so that gangs that blocked each
// other do not collide again.
func (o Options) pauseAfter(id ID, undone int) time.Duration {
	d := doublePause(o.BackOff, undone, o.MaxBackOff)
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", id, undone) // a hash takes everything
	return d - d/2*time.Duration(h.Sum32()%1024)/1024
}

// doublePause is a pause doubled so many times, at most most.
func doublePause(d time.Duration, times int, most time.Duration) time.Duration {
	for range min(times, 30) {
		if d *= 2; d >= most {
			break
		}
	}
	return min(d, most)
}

// boundPods counts the pods that have a node.
func (g *Gang) boundPods() int {
	n := 0
	for _, h := range g.Held {
		n += h.Pods
	}
	return n
}
