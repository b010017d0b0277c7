package task_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

func arrayOf(t testing.TB, first, size int32) *apiv1.LaunchCommandRequest {
	t.Helper()
	req := command(t, `{"entrypoint": ["true"], "description": "part"}`)
	req.Array = &apiv1.TaskArray{First: first, Size: size}
	return req
}

// members returns the tasks of an array by index.
func (m *master) members(array string) []*apiv1.Command {
	m.t.Helper()
	list, err := m.tasks.ArrayCommands(m.t.Context(), array)
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

func TestAnArrayIsManyTasksThatDifferInTheirIndex(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	r, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 3, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // and after a restart
		list := m.members(r.GetArrayId())
		if len(list) != 4 || list[0].GetId() != r.GetCommand().GetId() {
			t.Fatalf("got %d tasks, the first %s, want 4 and %s", len(list), list[0].GetId(), r.GetCommand().GetId())
		}
		for i, c := range list {
			if want := fmt.Sprintf("part [%d]", 3+i); c.GetDescription() != want {
				t.Errorf("got the name %q, want %q", c.GetDescription(), want)
			}
			if !m.machine.has(first(c.GetId())) {
				t.Errorf("task %d was not submitted", i)
			}
			variables := m.assign(first(c.GetId()), 1)[0].GetEnvironment()
			for _, want := range []string{"DET_TASK_ARRAY_ID=" + r.GetArrayId(), fmt.Sprintf("DET_TASK_ARRAY_INDEX=%d", 3+i), "DET_TASK_ARRAY_SIZE=4"} {
				if !slices.Contains(variables, want) {
					t.Errorf("task %d has not %s", i, want)
				}
			}
			if lines := m.lines(c.GetId()); len(lines) == 0 {
				t.Errorf("task %d has no line in its log", i)
			}
		}
		m.restart()
	}
	if single := m.launch(`{"entrypoint": ["true"]}`); single.ArrayId != nil || single.GetCommand().ArrayId != nil {
		t.Error("a single task has the variables of an array")
	}
}

func TestArrayIsAcceptedCompletelyOrRejected(t *testing.T) {
	t.Parallel()
	m := policed(t, policy.Policy{Root: true, Images: []string{"docker.io/library/python"}}, container.Default())
	m.stop()
	edit := m.edit
	m.edit = func(c *task.Config) { edit(c); c.Limits.Tasks = 5 }
	m.start()
	files, image := arrayOf(t, 0, 2), command(t, `{"entrypoint": ["true"], "environment": {"image": "evil"}}`)
	files.Files = []*apiv1.File{{Path: "a"}}
	image.Array = &apiv1.TaskArray{Size: 2}
	for _, tc := range []struct {
		name string
		req  *apiv1.LaunchCommandRequest
		want string
		code status.Code
	}{
		{"none", arrayOf(t, 0, 0), "array.size: must be 1 to 10000", status.InvalidArgument},
		{"too many", arrayOf(t, 0, 10_001), "array.size: must be 1 to 10000", status.InvalidArgument},
		{"below zero", arrayOf(t, -1, 2), "array.first", status.InvalidArgument},
		{"beyond all numbers", arrayOf(t, 1<<31-1, 2), "the last index", status.InvalidArgument},
		{"with files", files, "files: not supported for arrays", status.InvalidArgument},
		{"above the limit of a user", arrayOf(t, 0, 6), "these are 6 more, above the limit security.limits.tasks_per_user of 5", status.ResourceExhausted},
		{"against the policy", image, "environment.image", status.PermissionDenied},
	} {
		_, err := m.tasks.Launch(t.Context(), ann(), tc.req, nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || status.Of(err) != tc.code {
			t.Errorf("%s: got %v (%v), want %q (%v)", tc.name, err, status.Of(err), tc.want, tc.code)
		}
	}
	m.machine.invalid = errors.New("request unfulfillable")
	if _, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 2), nil); status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v for an array that can never run", err)
	}
	m.machine.invalid = nil
	if n := len(m.commands()); n != 0 || m.machine.submits != 0 {
		t.Errorf("got %d tasks and %d submissions of refused arrays", n, m.machine.submits)
	}
	if _, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 5), nil); err != nil {
		t.Errorf("as many as a user may have: %v", err)
	}
}

func TestTheConfigurationsOfAnArrayAreBoundedTogether(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	large := command(t, fmt.Sprintf(`{"entrypoint": ["true"], "environment": {"environment_variables": ["A=%s"]}}`, strings.Repeat("x", 500_000)))
	large.Array, large.RequestId = &apiv1.TaskArray{Size: 10_000}, "once"
	_, err := m.tasks.Launch(t.Context(), ann(), large, nil)
	if status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), "submit at most ") {
		t.Fatalf("got %v, want it refused", err)
	}
	if n := len(m.commands()); n != 0 {
		t.Errorf("got %d tasks of refused arrays", n)
	}
	large.Array.Size = 2
	if _, err := m.tasks.Launch(t.Context(), ann(), large, nil); err != nil {
		t.Errorf("a smaller one: %v", err)
	}
}

func TestUnlistedTaskIsNotRunAgain(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	for _, req := range []*apiv1.LaunchCommandRequest{command(t, `{"entrypoint": ["true"]}`), arrayOf(t, 0, 2)} {
		req.RequestId = "once"
		r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.ended(first(r.GetCommand().GetId()), rm.CauseKilled, "killed")
		if n, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); n != 1 || err != nil {
			t.Fatalf("got %d and %v, want one task collected", n, err)
		}
		before := len(m.commands())
		if _, err := m.tasks.Launch(t.Context(), ann(), req, nil); status.Of(err) != status.AlreadyExists {
			t.Errorf("got %v, want it refused", err)
		}
		if n := len(m.commands()); n != before {
			t.Errorf("got %d tasks, want %d", n, before)
		}
	}
}

func TestArraysThatComeTogetherKeepTheLimit(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.Limits.Tasks = 100 }
	m.restart()
	var wg sync.WaitGroup
	var taken atomic.Int32
	for range 8 {
		wg.Go(func() {
			_, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 60), nil)
			switch {
			case err == nil:
				taken.Add(1)
			case status.Of(err) != status.ResourceExhausted:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(m.commands()); taken.Load() != 1 || n != 60 {
		t.Errorf("got %d arrays accepted and %d tasks, want one array of 60", taken.Load(), n)
	}
	if _, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 40), nil); err != nil {
		t.Errorf("refused arrays still count: %v", err)
	}
}

func TestUnstoredArrayLeavesNoTasks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before the write has begun
	req := arrayOf(t, 0, 3)
	req.RequestId = "once"
	if _, err := m.tasks.Launch(ctx, ann(), req, nil); err == nil {
		t.Fatal("it was accepted")
	}
	if n := len(m.commands()); n != 0 {
		t.Errorf("got %d tasks", n)
	}
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil || len(m.members(r.GetArrayId())) != 3 {
		t.Errorf("sent again: %v", err)
	}
}

func TestRepeatedArrayReturnsTheFirst(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	req := arrayOf(t, 0, 20)
	req.RequestId = "once"
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.GetArrayId()
		})
	}
	wg.Wait()
	m.restart()
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Compact(append(ids, r.GetArrayId())); len(got) != 1 {
		t.Errorf("got the arrays %v, want one", got)
	}
	if n := len(m.commands()); n != 20 {
		t.Errorf("got %d tasks, want 20", n)
	}
}

func TestTheTasksOfAnArrayAreKilledTogether(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	r, err := m.tasks.Launch(t.Context(), ann(), arrayOf(t, 0, 5), nil)
	if err != nil {
		t.Fatal(err)
	}
	other := m.launch(`{"entrypoint": ["true"]}`).GetCommand().GetId()
	list := m.members(r.GetArrayId())
	done := first(list[0].GetId())
	m.assign(done, 1)
	m.changed(done, 0, terminated, exit(0))
	m.ended(done, rm.CauseExited, "")
	for _, tc := range []struct {
		name, id string
		by       *apiv1.User
		code     status.Code
	}{
		{"another user", r.GetArrayId(), bob(), status.PermissionDenied},
		{"a task's ID", list[1].GetId(), ann(), status.NotFound},
		{"no ID", "nope", ann(), status.NotFound},
		{"an empty ID", "", ann(), status.NotFound},
	} {
		if _, err := m.tasks.KillArray(t.Context(), tc.by, tc.id); status.Of(err) != tc.code {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.code)
		}
	}
	killed, err := m.tasks.KillArray(t.Context(), ann(), r.GetArrayId())
	if err != nil || killed.GetKilled() != 4 {
		t.Fatalf("got %v and %v, want 4 killed", killed, err)
	}
	for i, c := range list {
		if got := m.machine.killed(first(c.GetId())); (got != "") != (i > 0) {
			t.Errorf("task %d: killed for %q", i, got)
		}
	}
	if shown := m.members(r.GetArrayId()); len(shown) != 5 || shown[0].GetExitCode() != 0 {
		t.Errorf("got %v, want all of them, the one that has ended too", shown)
	}
	if _, err := m.tasks.ArrayCommands(t.Context(), other); status.Of(err) != status.NotFound {
		t.Errorf("got %v of a task that is no array", err)
	}
	if m.machine.killed(first(other)) != "" {
		t.Error("a task of no array was killed")
	}
}
