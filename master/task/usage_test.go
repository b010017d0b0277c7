package task_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

func TestAUserHasAsManyTasksAsTheLimitSays(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.Limits.Tasks = 2 }
	m.restart()
	one := m.launch(`{"entrypoint": ["a"]}`)
	m.launch(`{"entrypoint": ["b"]}`)
	refused := func(want string) {
		t.Helper()
		_, err := m.tasks.Launch(t.Context(), ann(), command(t, `{"entrypoint": ["c"]}`), nil)
		if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it refused with %q", err, want)
		}
	}
	refused("you have 2 tasks that have not ended")
	if _, err := m.tasks.Launch(t.Context(), bob(), command(t, `{"entrypoint": ["c"]}`), nil); err != nil {
		t.Errorf("another user: got %v", err)
	}
	m.restart()
	refused("you have 2 tasks")
	m.ended(first(one.GetCommand().GetId()), rm.CauseKilled, "killed")
	m.launch(`{"entrypoint": ["d"]}`)
	refused("you have 2 tasks")
}

func TestTheFilesOfAUsersTasksAreBounded(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.Limits.Contexts = 600 }
	m.restart()
	send := func() error {
		req := command(t, `{"entrypoint": ["a"]}`)
		req.Files = []*apiv1.File{{Path: "a", Type: '0', Content: []byte("some text")}}
		_, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		return err
	}
	var err error
	n := 0
	for ; err == nil && n < 20; n++ {
		err = send()
	}
	if status.Of(err) != status.ResourceExhausted || n < 2 || !strings.Contains(err.Error(), "context_bytes_per_user") {
		t.Errorf("got %v after %d", err, n)
	}
	m.launch(`{"entrypoint": ["b"]}`) // without files
}
