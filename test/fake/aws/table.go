package awstest

import "time"

// row is an object with its history, from which lagging lists are computed.
type row[T any] struct {
	id         string
	v          *T
	born, died time.Time
	bornAt     int // number of the change that created it
	diedAt     int // number of the change that deleted it, 0 while it exists
	shy        int // remaining reads by ID in which it is not found
	given      bool
}

// table holds all objects of one kind in one region, in the order of creation.
type table[T any] struct {
	w    *World
	rows []*row[T]
}

func (t *table[T]) add(id string, v T) *T {
	r := &row[T]{id: id, v: &v, born: t.w.now(), bornAt: t.w.changed, shy: t.w.opt.Shy}
	t.rows = append(t.rows, r)
	return r.v
}

// give adds an object that existed before the test: it does not count as leaked and is visible at
// once.
func (t *table[T]) give(id string, v T) *T {
	p := t.add(id, v)
	r := t.rows[len(t.rows)-1]
	r.given, r.shy, r.born = true, 0, time.Time{}
	return p
}

// get returns the live object of an ID, independent of lists.
func (t *table[T]) get(id string) (*T, bool) {
	for _, r := range t.rows {
		if r.id == id && r.diedAt == 0 {
			return r.v, true
		}
	}
	return nil, false
}

// wasDeletedWithin reports whether an object of that ID was deleted less than d ago.
func (t *table[T]) wasDeletedWithin(id string, d time.Duration) bool {
	for _, r := range t.rows {
		if r.id == id && r.diedAt != 0 && t.w.now().Before(r.died.Add(d)) {
			return true
		}
	}
	return false
}

// ask is like get as seen by a client: a new object is not found at first.
func (t *table[T]) ask(id string) (*T, bool) {
	for _, r := range t.rows {
		if r.id != id || r.diedAt != 0 {
			continue
		}
		if r.shy > 0 {
			r.shy--
			return nil, false
		}
		return r.v, true
	}
	return nil, false
}

func (t *table[T]) remove(id string) {
	for _, r := range t.rows {
		if r.id == id && r.diedAt == 0 {
			r.died, r.diedAt = t.w.now(), max(t.w.changed, 1)
		}
	}
}

// all returns the live objects.
func (t *table[T]) all() []*T {
	var out []*T
	for _, r := range t.rows {
		if r.diedAt == 0 {
			out = append(out, r.v)
		}
	}
	return out
}

// listed returns the objects as seen by a list: with lag, a past state.
func (t *table[T]) listed() []T {
	then, change := t.w.now().Add(-t.w.opt.Lag), t.w.changed-t.w.back
	lagging := t.w.opt.Lag > 0
	var out []T
	for _, r := range t.rows {
		hidden := r.bornAt > change || lagging && r.born.After(then)
		gone := r.diedAt != 0 && r.diedAt <= change && (!lagging || !r.died.After(then))
		if !hidden && !gone {
			out = append(out, *r.v)
		}
	}
	return out
}

// made returns the IDs of live objects that did not exist before the test.
func (t *table[T]) made() []string {
	var out []string
	for _, r := range t.rows {
		if r.diedAt == 0 && !r.given {
			out = append(out, r.id)
		}
	}
	return out
}
