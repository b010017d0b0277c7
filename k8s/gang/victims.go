package gang

import "slices"

// victim is a running gang that may be preempted.
type victim struct {
	*Gang
	asked bool
}

// preemptVictims preempts running gangs for g, and adds their resources to soon. If all possible
// victims are not enough, it preempts none and returns false.
func (p *pass) preemptVictims(g *Gang, s *shape, closed []bool) bool {
	if !p.options.Preemption || s.noVictims > 0 && g.Pods >= s.noVictims {
		return false
	}
	chosen := p.collectVictims(g, s, closed)
	if chosen == nil {
		if closed == nil {
			s.noVictims = g.Pods
		}
		return false
	}
	for _, v := range chosen {
		v.asked = true
		p.board.giveBack(v.Gang)
		p.decision.Preempt = append(p.decision.Preempt, Preempt{Gang: v.ID, For: g.ID})
	}
	return true
}

// collectVictims adds victims from the least important until g fits, then spares those not needed,
// the most important first. It returns nil if g does not fit with all of them.
func (p *pass) collectVictims(g *Gang, s *shape, closed []bool) []*victim {
	t := newTrial(p.board, s, g.Pods, closed)
	var tried []*victim
	for _, v := range slices.Backward(p.running) {
		if t.fitsGang() {
			break
		}
		if v.asked || v.Priority >= g.Priority || !t.helpsGang(v) || !p.options.NodesKnown && !v.Pod.coversPod(g.Pod) {
			continue
		}
		t.changeRoom(v, +1)
		tried = append(tried, v)
	}
	if !t.fitsGang() || len(tried) == 0 {
		return nil
	}
	for i, v := range slices.Backward(tried) {
		t.changeRoom(v, -1)
		if t.fitsGang() {
			tried = slices.Delete(tried, i, i+1)
			continue
		}
		t.changeRoom(v, +1)
	}
	return tried
}

// trial computes the room without some gangs, leaving the board unchanged.
type trial struct {
	board *board
	shape *shape
	soon  []int64
	pods  int
	// room is the number of pods that fit on each node, or -1 for nodes that do not count.
	room  []int
	total int
}

func newTrial(b *board, s *shape, pods int, closed []bool) *trial {
	t := &trial{board: b, shape: s, pods: pods, soon: slices.Clone(b.soon), room: make([]int, len(b.nodes))}
	for i := range t.room {
		t.room[i] = -1
	}
	for _, node := range s.nodes {
		if closed == nil || !closed[node] {
			t.room[node] = b.nodeRoom(t.soon, s, node, pods)
			t.total += t.room[node]
		}
	}
	return t
}

func (t *trial) fitsGang() bool { return t.total >= t.pods }

// helpsGang reports whether a victim is on a node that the gang can use.
func (t *trial) helpsGang(v *victim) bool {
	return slices.ContainsFunc(v.Held, func(h Held) bool {
		node, known := t.board.index[h.Node]
		return known && t.room[node] >= 0
	})
}

func (t *trial) changeRoom(v *victim, sign int64) {
	b := t.board
	for _, h := range v.Held {
		node, known := b.index[h.Node]
		if !known || t.room[node] < 0 {
			continue
		}
		for name, amount := range v.Pod.requests {
			t.soon[node*b.width+b.column[name]] += sign * amount * int64(h.Pods)
		}
		room := b.nodeRoom(t.soon, t.shape, node, t.pods)
		t.total += room - t.room[node]
		t.room[node] = room
	}
}
