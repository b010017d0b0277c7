package task

import (
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// What was handed over as it is is not handed over again, and is not kept beside what it becomes.
func TestWhatWasHandedOverIsForgotten(t *testing.T) {
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
			t.Errorf("task %s: what was handed over is kept", e.latestSnapshot().task.ID)
		}
	}
}
