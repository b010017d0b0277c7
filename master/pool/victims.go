package pool

import "slices"

// findVictims asks running allocations to make room for a, and counts what they
// hold as released. It asks none of them if all that may be asked are not enough.
func (p *pass) findVictims(a *Allocation, r request) []AllocationID {
	key := shape{units: r.units, single: r.single}
	if !p.scheduler.Preemption || p.noVictims[key] {
		return nil
	}
	chosen := p.collectVictims(a, r)
	if chosen == nil && len(r.exclude) == 0 {
		p.noVictims[key] = true
	}
	ids := make([]AllocationID, 0, len(chosen))
	for _, h := range chosen {
		h.asked = true
		ids = append(ids, h.ID)
		for _, g := range h.gains {
			p.soon.changeFree(g.agent, g.units)
		}
	}
	if len(chosen) > 0 {
		clear(p.noSoon)
	}
	return ids
}

// collectVictims tries victims from the least important until r fits, then spares
// those that turned out not to be needed, the most important first. It is nil
// if r does not fit with all of them.
func (p *pass) collectVictims(a *Allocation, r request) []*holding {
	t := trial{units: slices.Clone(p.soon.units), counts: slices.Clone(p.soon.counts), request: r}
	var tried []*holding
	for _, h := range slices.Backward(p.running) {
		if !mayPreempt(a, h) {
			continue
		}
		t.changeUnits(h, +1)
		if tried = append(tried, h); t.fits() {
			break
		}
	}
	if !t.fits() {
		return nil
	}
	for i, h := range slices.Backward(tried) {
		t.changeUnits(h, -1)
		if t.fits() {
			tried = slices.Delete(tried, i, i+1)
			continue
		}
		t.changeUnits(h, +1)
	}
	return tried
}

// mayPreempt reports whether a may push h out. Within a priority the place in
// the queue decides, so allocations of one job never push each other out.
func mayPreempt(a *Allocation, h *holding) bool {
	if h.asked {
		return false
	}
	if h.Priority == a.Priority {
		return h.Job != a.Job && h.Position > a.Position
	}
	return h.Priority > a.Priority
}

// trial asks "what if these were gone" without touching the board.
type trial struct {
	units   []int
	counts  histogram
	request request
}

func (t *trial) changeUnits(h *holding, sign int) {
	for _, g := range h.gains {
		t.counts[t.units[g.agent]]--
		t.units[g.agent] += sign * g.units
		t.counts.addCount(t.units[g.agent], 1)
	}
}

func (t *trial) fits() bool {
	less := make([]int, 0, len(t.request.exclude))
	for _, agent := range t.request.exclude {
		less = append(less, t.units[agent])
	}
	return t.counts.fewestMachines(t.request.units, t.request.single, less) > 0
}
