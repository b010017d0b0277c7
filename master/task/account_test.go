package task_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestEachPlacedAllocationIsAccountedForOnce(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"resources":{"preemptible":true,"slots":2}}`).GetCommand().GetId()
	waits := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	m.assign(first(id), 1)
	m.changed(first(id), 0, running, nil)
	if placed := m.tasks.Placed(); len(placed) != 1 || placed[0].Slots != 2 || !placed[0].End.IsZero() {
		t.Errorf("got %+v, want the one that has a place", placed)
	}
	for range 2 {
		m.ended(first(id), rm.CauseAgentLost, "it burns")
	}
	m.restart()
	m.ended(first(id), rm.CauseAgentLost, "it burns")
	again := rm.AllocationID(id + ".2")
	m.assign(again, 1)
	m.ended(again, rm.CauseExited, "")
	m.ended(first(waits), rm.CauseRefused, "no pool")
	list, err := accounting.Ended(t.Context(), m.store, time.Time{}, time.Now().Add(time.Hour))
	if err != nil || len(list) != 2 {
		t.Fatalf("got %+v, %v, want both allocations that had a place", list, err)
	}
	for i, e := range list {
		if want := (rm.AllocationID(id) + "." + rm.AllocationID(rune('1'+i))); e.Allocation != want || e.Job != rm.JobID(id) ||
			e.Username != "ann" || e.Kind != "COMMAND" || e.Slots != 2 || e.Start.IsZero() || e.End.IsZero() {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
}
