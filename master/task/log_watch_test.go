package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

func (o *owner) LogPolicies(context.Context, rm.TaskID) ([]container.LogPolicy, error) {
	return o.policies, nil
}

func (o *owner) LogMatched(_ context.Context, m task.LogMatch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail > 0 {
		o.fail--
		return errors.New("the store does not answer")
	}
	o.matches = append(o.matches, fmt.Sprintf("%d %s %s %s", m.Run, m.Agent, m.Policy.Action, m.Line))
	return nil
}

func (m *master) print(id rm.AllocationID, agent rm.AgentID, seq uint64, text string) error {
	_, err := m.tasks.AppendLogs(m.t.Context(), agent, &agentv1.Logs{
		AllocationId: string(id), ContainerId: string(containerID(id, 0)), FirstSeq: seq, Lines: []*agentv1.Line{{Text: []byte(text)}},
	})
	return err
}

func TestMatchingLinesAreReportedOnce(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Again })
	o.policies = []container.LogPolicy{
		{Name: "CUDA OOM", Pattern: ".*CUDA out of memory.*", Action: "cancel_retries"}, {Pattern: "ECC error$", Action: "exclude_node"}, {Name: "removed"},
	}
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 1)
	for i, text := range []string{
		`config: {"log_policies": [{"pattern": ".*CUDA out of memory.*"}]}`, "all is well", "RuntimeError: CUDA out of memory. Tried", "CUDA out of memory",
		"uncorrectable ECC error", "ECC error?",
	} {
		if err := m.print("1.a.1", "a1", uint64(i), text); err != nil {
			t.Fatal(err)
		}
	}
	m.must(func() error { return m.print("1.a.1", "a2", 6, "ECC error") })
	m.ended("1.a.1", rm.CauseExited, "")
	m.assign("1.a.2", 1)
	m.must(func() error { return m.print("1.a.2", "a1", 0, "ECC error") })
	want := []string{
		"1 a1 cancel_retries RuntimeError: CUDA out of memory. Tried", "1 a1 exclude_node uncorrectable ECC error", "1 a2 exclude_node ECC error",
		"2 a1 exclude_node ECC error",
	}
	if d := cmp.Diff(o.matches, want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
}

func TestMatchingLineIsStoredAfterItsReport(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Again })
	o.policies = []container.LogPolicy{{Pattern: "no retry", Action: "cancel_retries"}}
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 1)
	o.fail = 1
	if err := m.print("1.a.1", "a1", 0, "no retry"); err == nil || slices.Contains(m.lines("1.a"), " no retry") {
		t.Errorf("got %v and %q, want the line refused", err, m.lines("1.a"))
	}
	m.must(func() error { return m.print("1.a.1", "a1", 0, "no retry") })
	if len(o.matches) != 1 {
		t.Errorf("got %q", o.matches)
	}
}
