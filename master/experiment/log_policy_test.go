package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/log"
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
	want := []string{"trial failed and matched logs to a don't retry policy", `(log "out of memory" matched regex ".*out of memory.*")`}
	if got := w.errorLines(trials[0].Task()); len(got) < 2 || !slices.Equal(got[len(got)-2:], want) {
		t.Errorf("got the lines %q, want the last to be %q", got, want)
	}
}

// errorLines returns the lines of the level ERROR in a task's log.
func (w *world) errorLines(id string) (out []string) {
	w.Helper()
	for e, err := range w.logs.Query(w.Context(), log.Filter{Task: id}) {
		if err != nil {
			w.Fatal(err)
		}
		if e.Level == log.Error {
			out = append(out, strings.TrimRight(e.Text, "\n"))
		}
	}
	return out
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
	want := `(log '"an uncorrectable ECC error"' matched regex .*ECC error.*) therefore will not schedule on a1`
	if got := w.errorLines(w.trial(1).Task()); !slices.Contains(got, want) {
		t.Errorf("got the lines %q, want %q", got, want)
	}
}
