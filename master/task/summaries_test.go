package task_test

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// A list shows the present state, and only changed allocations are encoded again.
func TestSummariesAreWrittenAgainWhenTheyChange(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	var ids []rm.AllocationID
	for range 5 {
		ids = append(ids, first(m.launch(`{"entrypoint":["true"],"environment":{"proxy_ports":[{"proxy_port":8888}]}}`).GetCommand().GetId()))
	}
	check := func(what string, written int, holds func(map[string]*apiv1.AllocationSummary) bool) {
		t.Helper()
		m.written = 0
		if all := m.summaries(); !holds(all) {
			t.Errorf("%s: got %v", what, all)
		}
		if m.written != written {
			t.Errorf("%s: %d were written; want %d", what, m.written, written)
		}
	}
	priorities := func(want int32, n int) func(map[string]*apiv1.AllocationSummary) bool {
		return func(all map[string]*apiv1.AllocationSummary) bool {
			for _, s := range all {
				if s.GetPriority() != want || s.GetProxyPorts()[0].GetPort() != 8888 {
					return false
				}
			}
			return len(all) == n
		}
	}
	check("at first", 5, priorities(42, 5))
	check("asked again", 0, priorities(42, 5))
	m.machine.setPriority(7)
	check("of another priority", 5, priorities(7, 5))
	m.machine.setPriority(7)
	check("when other jobs have changed", 0, priorities(7, 5))
	m.assign(ids[0], 1)
	check("when one is placed", 1, func(all map[string]*apiv1.AllocationSummary) bool {
		return len(all) == 5 && len(all[string(ids[0])].GetResources()) == 1
	})
	m.ended(ids[1], rm.CauseKilled, "by user")
	check("when one has ended", 0, priorities(7, 4))
}

// An allocation that the resource manager does not have yet may get another priority there.
func TestSummariesOfTasksThatAreNotQueuedAreNotKept(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := first(m.launch(`{"entrypoint":["true"],"resources":{"priority":3}}`).GetCommand().GetId())
	m.machine.withdraw(id)
	for range 2 {
		if got := m.summaries()[string(id)].GetPriority(); got != 3 {
			t.Errorf("priority %d; want the one that was asked for", got)
		}
	}
	m.restart()
	if got := m.summaries()[string(id)].GetPriority(); got != 42 {
		t.Errorf("priority %d; want the one in force", got)
	}
}

// The priorities cached at the start are those in the first list, unless they have changed since.
func TestTheFirstSummariesAfterAStart(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	ports := map[string]int{}
	for i := range 6 {
		config := `{"entrypoint":["true"]}`
		if i%3 == 0 {
			config = `{"entrypoint":["true"],"environment":{"proxy_ports":[{"proxy_port":8888}]}}`
		}
		ports[string(first(m.launch(config).GetCommand().GetId()))] = 1 - min(i%3, 1)
	}
	check := func(want int32) {
		t.Helper()
		all := m.summaries()
		for id, n := range ports {
			if s := all[id]; s.GetPriority() != want || len(s.GetProxyPorts()) != n || s.GetName() == "" {
				t.Errorf("got %v, want priority %d and %d ports", s, want, n)
			}
		}
	}
	m.restart()
	check(42)
	m.restart()
	m.machine.setPriority(7)
	check(7)
}
