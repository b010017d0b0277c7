package share

import (
	"container/list"
	"sync"
	"time"
)

// Places is a limited number of places. If no place is free for a group, the group with the most
// places loses its oldest one, preferably one whose holder is still waiting, such as a connection
// without a complete header.
type Places struct {
	limits Limits

	mu     sync.Mutex // guards the following fields
	taken  int
	groups map[string]*group
}

// A Place is a taken place.
type Place struct {
	places *Places
	group  *group
	end    func()

	// The following fields are guarded by the mutex of places.

	since time.Time
	in    *list.List // nil after it was released or lost
	entry *list.Element
}

// group holds the places of one group, oldest first.
type group struct {
	Group
	waiting, busy list.List
}

func (g *group) size() int { return g.waiting.Len() + g.busy.Len() }

// NewPlaces returns free places.
func NewPlaces(l Limits) *Places {
	return &Places{limits: l, groups: map[string]*group{}}
}

// Take takes a place for a client of a group, in the waiting state. It returns false if the group
// has its share and no other client can lose a place. If the place is lost to another client, end
// is called once, from another goroutine.
func (p *Places) Take(of Group, end func()) (*Place, bool) {
	taken, lost := p.take(of, end)
	if lost != nil {
		lost.end()
	}
	return taken, taken != nil
}

func (p *Places) take(of Group, end func()) (taken, lost *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groupOf(of)
	if !p.hasRoom(g) {
		if lost = p.oldestOfLargest(g); lost == nil {
			return nil, nil
		}
		p.remove(lost)
	}
	return p.add(g, end), lost
}

// TakeFree is Take without taking a place from another client.
func (p *Places) TakeFree(of Group, end func()) (*Place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groupOf(of)
	if !p.hasRoom(g) {
		return nil, false
	}
	return p.add(g, end), true
}

// groupOf returns the places of a group. The caller holds mu.
func (p *Places) groupOf(of Group) *group {
	if g, found := p.groups[of.Name]; found {
		return g
	}
	return &group{Group: of}
}

// add takes a place for a group. The caller holds mu.
func (p *Places) add(g *group, end func()) *Place {
	p.groups[g.Name] = g
	p.taken++
	place := &Place{places: p, group: g, end: end}
	place.moveTo(&g.waiting)
	return place
}

// hasRoom reports whether a group may take a free place. The caller holds mu.
func (p *Places) hasRoom(g *group) bool {
	if g.Spared {
		return p.limits.Most == 0 || p.taken < p.limits.Most
	}
	return g.size() < p.limits.Share(p.taken)
}

// oldestOfLargest returns the place that a group takes over: of the largest group if that has more
// places than this one, otherwise of the group itself. It returns nil if no place can be taken
// over. The caller holds mu.
func (p *Places) oldestOfLargest(own *group) *Place {
	size := own.size()
	if own.Spared {
		size = 0
	}
	var most *group
	for _, g := range p.groups {
		switch {
		case g.Spared || g == own || g.size() < size:
		case g.size() > size, most != nil && g.oldest().since.Before(most.oldest().since):
			most, size = g, g.size()
		}
	}
	if most != nil {
		return most.oldest()
	}
	first := own.waiting.Front()
	if first == nil || p.limits.Safe == 0 || time.Since(placeOf(first).since) < p.limits.Safe {
		return nil
	}
	return placeOf(first)
}

// oldest returns the place that the group loses first. The group must have one.
func (g *group) oldest() *Place {
	if first := g.waiting.Front(); first != nil {
		return placeOf(first)
	}
	return placeOf(g.busy.Front())
}

func placeOf(e *list.Element) *Place { return e.Value.(*Place) } //nolint:forcetypeassert // the list contains only places

// remove frees a place. The caller holds mu.
func (p *Places) remove(place *Place) {
	place.in.Remove(place.entry)
	place.in = nil
	p.taken--
	if place.group.size() == 0 {
		delete(p.groups, place.group.Name)
	}
}

// moveTo makes the place the youngest of a list. The caller holds the mutex.
func (l *Place) moveTo(to *list.List) {
	if l.in != nil {
		l.in.Remove(l.entry)
	}
	l.in, l.entry, l.since = to, to.PushBack(l), time.Now()
}

// SetWaiting marks the place as waiting for its client again.
func (l *Place) SetWaiting() { l.move(&l.group.waiting) }

// SetBusy marks the place as serving its client.
func (l *Place) SetBusy() { l.move(&l.group.busy) }

func (l *Place) move(to *list.List) {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	if l.in != nil && l.in != to {
		l.moveTo(to)
	}
}

// Leave releases the place, unless it was released or lost before.
func (l *Place) Leave() {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	if l.in != nil {
		l.places.remove(l)
	}
}

// Taken returns the total number of taken places.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Smallest returns the index of the first place whose group has the fewest places.
func (p *Places) Smallest(of []*Place) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := 0
	for i, place := range of {
		if place.group.size() < of[best].group.size() {
			best = i
		}
	}
	return best
}
