package task_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func after(id string, succeeded bool) *apiv1.TaskDependency {
	return &apiv1.TaskDependency{TaskId: id, Succeeded: succeeded}
}

func (m *master) launchAfter(of ...*apiv1.TaskDependency) string {
	m.t.Helper()
	req := command(m.t, echo)
	req.After = of
	r, err := m.tasks.Launch(m.t.Context(), ann(), req, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return r.GetCommand().GetId()
}

func (m *master) checkSubmitted(when string, want bool, ids ...string) {
	m.t.Helper()
	for _, id := range ids {
		if got := m.machine.has(first(id)); got != want {
			m.t.Errorf("%s: task %s was submitted: %t, want %t", when, id, got, want)
		}
	}
}

// Restarted masters know what a task waits for, and that a part of it has happened.
func TestTasksStartAfterOthers(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one, two := m.launchAfter(), m.launchAfter()
	ended, both := m.launchAfter(after(one, false)), m.launchAfter(after(one, true), after(two, true))
	m.checkSubmitted("at first", false, ended, both)
	if got, want := m.command(both).GetReason(), "starts after the success of task "+one+" and 1 more"; got != want {
		t.Errorf("got the reason %q, want %q", got, want)
	}
	m.restart()
	m.checkSubmitted("after a restart", false, ended, both)
	m.finish(one)
	m.checkSubmitted("after the first", true, ended)
	m.checkSubmitted("after the first", false, both)
	m.restart()
	m.finish(two)
	m.checkSubmitted("after both", true, both)
	late := m.launchAfter(after(one, true))
	m.checkSubmitted("after an ended one", true, late)
}

func TestTasksThatMissSuccessEnd(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one := m.launchAfter()
	ended, succeeded := m.launchAfter(after(one, false)), m.launchAfter(after(one, true))
	next := m.launchAfter(after(succeeded, true))
	m.must(life(m, one)...) // it fails
	m.checkSubmitted("after the failure", true, ended)
	m.checkSubmitted("after the failure", false, succeeded, next)
	for id, cause := range map[string]string{succeeded: one, next: succeeded} {
		c, want := m.command(id), "task "+cause+" was to succeed before, and did not"
		if c.GetStatus() != "failed" || c.GetExitStatus() != want || c.ExitCode != nil {
			t.Errorf("got %v, want that it failed because %s", c, want)
		}
	}
}

func TestTasksThatWaitForOthersAreKilled(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one := m.launchAfter()
	waits := m.launchAfter(after(one, false))
	if err := m.tasks.ChangeJob(t.Context(), ann(), rm.JobID(waits), rm.Change{}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("change of its job: got %v, want FailedPrecondition", err)
	}
	if _, err := m.tasks.Kill(t.Context(), ann(), waits); err != nil {
		t.Fatal(err)
	}
	if c := m.command(waits); c.GetStatus() != "killed" {
		t.Errorf("got %v, want that it was killed", c)
	}
	m.finish(one)
	m.checkSubmitted("after the end", false, waits)
}

// The first task ends while the master has no resource manager, as if it had stopped before it could start
// the second.
func TestInterruptedStartAfterOthersIsRepeated(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one := m.launchAfter()
	waits := m.launchAfter(after(one, true))
	m.stop()
	m.open()
	m.finish(one)
	m.checkSubmitted("without a resource manager", false, waits)
	if err := m.tasks.Attach(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	m.checkSubmitted("with one", true, waits)
}

func TestArraysStartAfterOthers(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one := m.launchAfter()
	req := arrayOf(t, 0, 3)
	req.After = []*apiv1.TaskDependency{after(one, false)}
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, done := range []bool{false, true} {
		if done {
			m.finish(one)
		}
		for _, c := range m.members(r.GetArrayId()) {
			m.checkSubmitted("an array", done, c.GetId())
		}
	}
}

func TestInvalidDependenciesAreRejected(t *testing.T) {
	t.Parallel()
	m, other := newMaster(t), newMaster(t)
	own := command(t, echo)
	own.RequestId = "again"
	r, err := other.tasks.Launch(t.Context(), ann(), own, nil) // the same ID as on m
	if err != nil {
		t.Fatal(err)
	}
	many := make([]*apiv1.TaskDependency, 101)
	for _, tt := range []struct {
		after []*apiv1.TaskDependency
		code  status.Code
		says  string
	}{
		{[]*apiv1.TaskDependency{after(r.GetCommand().GetId(), false)}, status.InvalidArgument, "after itself"},
		{[]*apiv1.TaskDependency{after("nope", true)}, status.NotFound, "after: command 'nope' not found"},
		{many, status.InvalidArgument, "at most 100 tasks (is 101)"},
	} {
		own.After = tt.after
		if _, err := m.tasks.Launch(t.Context(), ann(), own, nil); status.Of(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v, want %v and %q", err, tt.code, tt.says)
		}
	}
}
