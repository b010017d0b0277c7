package gang

import (
	"fmt"
	"hash/fnv"
	"time"
)

// bindGang takes the room for a binding gang's unplaced pods, or undoes the attempt if it has
// lasted too long.
func (p *pass) bindGang(g *Gang) {
	if limit, runs := p.limitOf(g); runs && !p.isFuture(limit) {
		p.decision.Waiting[g.ID] = p.undoGang(g, p.describePlaced(g))
		return
	}
	if p.triedInVain(g) {
		p.decision.Waiting[g.ID] = p.undoRefused(g)
		return
	}
	s, left := p.board.shapeOf(g), g.Pods-g.boundPods()
	n := p.board.countRoom(p.board.free, s, left, nil)
	p.decision.Waiting[g.ID] = p.forBinding(g)
	if g.Ungated && n < left && p.seesAll() {
		p.decision.Waiting[g.ID] = p.explainLostRoom(g, s)
		if g.Trouble != "" {
			p.undoUntil(g, p.describePlaced(g), p.now)
			return
		}
	}
	p.handOver(left, g.Since)
	if n > 0 {
		p.board.takeRoom(s, p.board.chooseNodes(p.board.free, s, n, nil))
	}
}

// explainLostRoom returns the reason why a gang without gates waits if other pods took its room
// before the scheduler placed it. With gates, that is detected before they are removed. If the
// scheduler has rejected a pod, the gang is undone at once and gets gates the next time. It need
// not pause, because it is not created again before there is room.
func (p *pass) explainLostRoom(g *Gang, s *shape) Reason {
	if !p.board.holdsPods(s, g.Pods) {
		return p.forCapacity(g, s)
	}
	return p.forRoom(g, s)
}

// handOver counts pods that the scheduler has and is expected to place.
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

// limitOf returns the time at which a gang without all of its pods, or without a node for each, is
// undone. A partial gang keeps others from its resources. A gang without any response from
// Kubernetes holds nothing yet, and may be late if thousands of pods are created or placed at once.
// If nodes are not known, it has no limit. The scheduler's progress renews the limit, because it
// places the pods of a large gang one by one, and those of others in between.
func (p *pass) limitOf(g *Gang) (at time.Time, runs bool) {
	binds, holds := g.State == Binding, g.State == Binding && g.boundPods() > 0
	switch {
	case binds && g.Stretched:
		return g.Since.Add(p.options.ScaleLimit), true
	case holds && g.Unseen > 0:
		return g.Progress.Add(p.options.ScaleLimit), true
	case holds:
		return g.Progress.Add(p.options.Limit), true
	case binds && !p.options.NodesKnown:
		return at, false
	case g.Trouble == "":
		return g.Since.Add(p.options.ScaleLimit), true
	}
	from := g.Since
	if g.Progress.After(from) {
		from = g.Progress
	}
	return from.Add(p.options.Limit), true
}

// undoGang undoes an attempt and pauses the gang.
func (p *pass) undoGang(g *Gang, why string) Reason {
	return p.undoUntil(g, why, p.now.Add(p.options.pauseAfter(g.ID, g.Undone)))
}

// undoRefused undoes an attempt that the scheduler has rejected. If nodes are known, the gang need
// not pause and can preempt others, because a lesson prevents it from being tried again.
func (p *pass) undoRefused(g *Gang) Reason {
	if !p.options.NodesKnown {
		return p.undoGang(g, p.describePlaced(g))
	}
	return p.undoUntil(g, p.describePlaced(g), p.now)
}

// undoUntil undoes an attempt and pauses the gang until a time.
func (p *pass) undoUntil(g *Gang, why string, until time.Time) Reason {
	p.decision.Undo = append(p.decision.Undo, Undo{Gang: g.ID, Until: until, Reason: why})
	p.board.giveBack(g)
	return Reason{ForBackOff, why + "; all of them are deleted"}
}

// pauseAfter returns the pause after a number of undone attempts. It doubles each time, and is
// shortened by up to half, depending on the gang, so that gangs that blocked each other do not
// collide again.
func (o Options) pauseAfter(id ID, undone int) time.Duration {
	d := doublePause(o.BackOff, undone, o.MaxBackOff)
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", id, undone) // writes to a hash never fail
	return d - d/2*time.Duration(h.Sum32()%1024)/1024
}

// doublePause returns d doubled a number of times, at most most.
func doublePause(d time.Duration, times int, most time.Duration) time.Duration {
	for range min(times, 30) {
		if d *= 2; d >= most {
			break
		}
	}
	return min(d, most)
}

// boundPods returns the number of pods that have a node.
func (g *Gang) boundPods() int {
	n := 0
	for _, h := range g.Held {
		n += h.Pods
	}
	return n
}
