package task

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// A task that Attach has submitted is not submitted again if it is unchanged, and its old snapshot is
// released.
func TestSubmittedSnapshotsAreReleased(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	add := func(id rm.TaskID, ended time.Time) *entry {
		e := newEntry(r.usage)
		e.publish(&snapshot{task: lifecycle.Task{ID: id, Kind: lifecycle.Command, Ended: ended}, allocations: []lifecycle.Allocation{{}}})
		e.attached = e.cur.Load()
		r.putTask(id, e)
		return e
	}
	same, changed, over := add("a", time.Time{}), add("b", time.Time{}), add("c", time.Unix(1, 0))
	changed.publishSnapshot(changed.latestSnapshot())
	launched := add("d", time.Time{})
	launched.attached = nil
	if got := r.listChanged(); !slices.Equal(got, []*entry{changed, launched}) {
		t.Errorf("%d tasks are handed over, want the one that has changed and the one that came", len(got))
	}
	for _, e := range []*entry{same, changed, over} {
		if e.attached != nil {
			t.Errorf("task %s: the submitted snapshot is kept", e.latestSnapshot().task.ID)
		}
	}
}

// A walk over all tasks visits each present one once, regardless of removals.
func TestWalkVisitsEachTaskOnce(t *testing.T) {
	t.Parallel()
	r, want := newRegistry(), map[*entry]bool{}
	r.expect(3)
	add := func(id rm.TaskID) {
		e, fresh := r.reserveID(id)
		if !fresh {
			t.Fatalf("task %s is there already", id)
		}
		want[e] = true
	}
	drop := func(id rm.TaskID) {
		delete(want, r.entries[id])
		r.dropTask(id)
		r.dropTask(id) // again, which has no effect
	}
	check := func(after string) {
		t.Helper()
		got := map[*entry]bool{}
		for _, e := range r.listAll() {
			got[e] = true
		}
		if !maps.Equal(got, want) || len(r.row) != len(want) {
			t.Errorf("after %s: found %d tasks in a row of %d, want %d", after, len(got), len(r.row), len(want))
		}
	}
	for _, id := range []rm.TaskID{"a", "b", "c", "d", "e"} {
		add(id)
	}
	check("five have come")
	for _, id := range []rm.TaskID{"b", "e", "a"} { // in the middle, the last, the first
		drop(id)
		check(string(id) + " has left")
	}
	add("a")
	check("one has come again")
	for _, id := range []rm.TaskID{"a", "c", "d"} {
		drop(id)
	}
	check("all have left")
}
