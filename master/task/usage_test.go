package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
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

// limited is a master whose users may store so many bytes, and the quota of the present one.
func limited(t *testing.T, bytes int64) (*master, **quota.Quota) {
	t.Helper()
	m, q := newMaster(t), new(*quota.Quota)
	m.edit = func(c *task.Config) {
		var err error
		if *q, err = quota.Open(t.Context(), c.Store, bytes); err != nil {
			t.Fatal(err)
		}
		c.Quota = *q
	}
	m.restart()
	return m, q
}

func TestTheFilesOfListedTasksCountAsStored(t *testing.T) {
	t.Parallel()
	m, q := limited(t, 600)
	send := func() error {
		req := command(t, `{"entrypoint": ["a"]}`)
		req.Files = []*apiv1.File{{Path: "a", Type: '0', Content: []byte("some text")}}
		made, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		if err == nil {
			m.ended(first(made.GetCommand().GetId()), rm.CauseExited, "")
		}
		return err
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	each := (*q).Stored(7)[quota.Contexts]
	if each == 0 || each > 300 {
		t.Fatalf("the files of one task: got %d bytes", each)
	}
	n := int64(1)
	var err error
	for ; err == nil && n < 20; n++ {
		err = send()
	}
	if status.Of(err) != status.ResourceExhausted || n != 600/each+1 || !strings.Contains(err.Error(), "user ann stores") {
		t.Errorf("got %v after %d tasks of %d bytes", err, n-1, each)
	}
	m.restart()
	if err := send(); status.Of(err) != status.ResourceExhausted {
		t.Errorf("after a restart: got %v", err)
	}
	if got := (*q).Stored(7)[quota.Contexts]; got != 600/each*each {
		t.Errorf("after a restart: got %d bytes, want those of %d tasks", got, 600/each)
	}
	if _, err := m.tasks.Launch(t.Context(), bob(), command(t, `{"entrypoint": ["b"]}`), nil); err != nil {
		t.Errorf("another user: got %v", err)
	}
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if got := (*q).Stored(7); len(got) != 0 {
		t.Errorf("no longer listed: got %v", got)
	}
	if err := send(); err != nil {
		t.Errorf("no longer listed: got %v", err)
	}
}

func TestTheFilesThatAnEarlierVersionStoredAreCountedOnce(t *testing.T) {
	t.Parallel()
	m := newMaster(t) // without a quota, as earlier versions
	req := command(t, `{"entrypoint": ["a"]}`)
	req.Files = []*apiv1.File{{Path: "a", Type: '0', Content: []byte("some text")}}
	if _, err := m.tasks.Launch(t.Context(), ann(), req, nil); err != nil {
		t.Fatal(err)
	}
	var q *quota.Quota
	m.edit = func(c *task.Config) {
		var err error
		if q, err = quota.Open(t.Context(), c.Store, 0); err != nil {
			t.Fatal(err)
		}
		c.Quota = q
	}
	m.restart()
	one := q.Stored(7)[quota.Contexts]
	m.restart()
	if again := q.Stored(7)[quota.Contexts]; one == 0 || again != one {
		t.Errorf("got %d bytes, and %d after another restart", one, again)
	}
}
