package gcptest

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// row is an object with its history, from which lagging lists are computed.
type row[T any] struct {
	key            string // path: "projects/p/zones/z/disks/d"
	v              *T
	born, died     time.Time
	bornAt, diedAt int // numbers of the changes that created and deleted it, 0 for never
	given          bool
	going          bool // being deleted: its name is still in use
}

// table holds all objects of one kind.
type table[T any] struct {
	w    *World
	rows []*row[T]
	live map[string]*row[T]
}

func newTable[T any](w *World) table[T] { return table[T]{w: w, live: make(map[string]*row[T])} }

// add adds an object. While the change counter is 0, the object counts as existing before the test.
func (t *table[T]) add(key string, v *T) *row[T] {
	r := &row[T]{key: key, v: v, born: t.w.now(), bornAt: t.w.changed}
	t.rows = append(t.rows, r)
	t.live[key] = r
	t.w.objects[key], t.w.added = v, append(t.w.added, key)
	return r
}

// give adds an object that existed before the test and therefore does not count as leaked.
func (t *table[T]) give(key string, v *T) *T {
	r := t.add(key, v)
	r.given, r.born, r.bornAt = true, time.Time{}, 0
	return v
}

func (t *table[T]) get(key string) (*T, bool) {
	if r := t.live[key]; r != nil {
		return r.v, true
	}
	return nil, false
}

func (t *table[T]) remove(key string) {
	if r := t.live[key]; r != nil {
		r.died, r.diedAt = t.w.now(), max(t.w.changed, 1)
		delete(t.live, key)
		t.prune()
	}
}

// prune occasionally removes rows that no list can return any more.
func (t *table[T]) prune() {
	if len(t.rows) < 2*len(t.live)+200 {
		return
	}
	then := t.w.now().Add(-t.w.opt.Lag)
	t.rows = slices.DeleteFunc(t.rows, func(r *row[T]) bool { return r.diedAt != 0 && r.diedAt < t.w.changed-1 && r.died.Before(then) })
}

// all returns the live objects in the order of creation.
func (t *table[T]) all() iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		for _, r := range t.rows {
			if r.diedAt == 0 && !yield(r.key, r.v) {
				return
			}
		}
	}
}

// listed returns the rows below a path as seen by a list, sorted by path: with lag, a past state.
// Back is the number of changes by which the list is stale.
func (t *table[T]) listed(prefix string, back int) []*row[T] {
	then, change := t.w.now().Add(-t.w.opt.Lag), t.w.changed-back
	lagging := t.w.opt.Lag > 0
	var out []*row[T]
	for _, r := range t.rows {
		hidden := r.bornAt > change || lagging && r.born.After(then)
		gone := r.diedAt != 0 && r.diedAt <= change && (!lagging || !r.died.After(then))
		if strings.HasPrefix(r.key, prefix) && !hidden && !gone {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *row[T]) int { return strings.Compare(a.key, b.key) })
	return out
}

// made returns the paths of live objects that did not exist before the test.
func (t *table[T]) made() []string {
	var out []string
	for _, r := range t.rows {
		if r.diedAt == 0 && !r.given {
			out = append(out, r.key)
		}
	}
	return out
}
