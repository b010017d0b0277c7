package experiment

import (
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/rm"
)

const withPolicies = single + `
log_policies:
  - {name: memory, pattern: ".*out of memory.*", action: cancel_retries}
  - {name: hardware, pattern: ".*ECC error.*", action: exclude_node}
`

// print writes a log line of a run's program.
func (w *world) print(id rm.AllocationID, text string) {
	w.Helper()
	_, err := w.tasks.AppendLogs(w.Context(), "a1", &agentv1.Logs{
		AllocationId: string(id), ContainerId: string(containerID(id)), Lines: []*agentv1.Line{{Text: []byte(text)}},
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestLogPolicyCancelRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(withPolicies)
	id := w.place(1)
	w.print(id, "out of memory")
	w.restart()
	w.exit(id, 1)
	_, trials := w.wantState(1, lifecycle.Error)
	if got := trials[0]; got.Life.Run != 1 || got.Matched == nil || got.Matched.Policy != "memory" {
		t.Errorf("got %+v, want no second run", got.Trial)
	}
}

func TestLogPolicyExcludeNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(withPolicies)
	id := w.place(1)
	w.print(id, "an uncorrectable ECC error")
	w.exit(id, 1)
	w.reconcile()
	next := w.allocationOf(w.trial(1))
	if r, found := w.machine.Allocation(next); !found || !slices.Equal(r.Request.ExcludedAgents, []rm.AgentID{"a1"}) {
		t.Errorf("got %+v, want a second run elsewhere", r.Request)
	}
}
