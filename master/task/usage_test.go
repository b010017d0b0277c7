package task_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

func TestTasksPerUserAreLimited(t *testing.T) {
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
	refused("you have 2 unfinished tasks")
	if _, err := m.tasks.Launch(t.Context(), bob(), command(t, `{"entrypoint": ["c"]}`), nil); err != nil {
		t.Errorf("another user: got %v", err)
	}
	m.restart()
	refused("you have 2 unfinished tasks")
	m.ended(first(one.GetCommand().GetId()), rm.CauseKilled, "killed")
	m.launch(`{"entrypoint": ["d"]}`)
	refused("you have 2 unfinished tasks")
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

// limited returns a master whose users may store so many bytes, and its current quota.
func limited(t *testing.T, bytes int64) (*master, **quota.Quota) {
	t.Helper()
	m, q := newMaster(t), new(*quota.Quota)
	m.edit = func(c *task.Config) {
		var err error
		if *q, err = quota.Open(t.Context(), c.Store, bytes); err != nil {
			t.Fatal(err)
		}
		c.Quota = *q
		m.logs.LimitUsers(*q, func(ctx context.Context, id string) (quota.User, error) { return m.tasks.OwnerOfLog(ctx, id) })
	}
	m.restart()
	return m, q
}

func TestTheFilesOfListedTasksCountAsStored(t *testing.T) {
	t.Parallel()
	const limit = 60_000 // logs take some hundreds of it
	m, q := limited(t, limit)
	send := func() error {
		req := command(t, `{"entrypoint": ["a"]}`)
		req.Files = []*apiv1.File{{Path: "a", Type: '0', Content: random(10_000)}}
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
	if each < 10_000 || each > 11_000 {
		t.Fatalf("the files of one task: got %d bytes", each)
	}
	n := int64(1)
	var err error
	for ; err == nil && n < 20; n++ {
		err = send()
	}
	if status.Of(err) != status.ResourceExhausted || n != limit/each+1 || !strings.Contains(err.Error(), "user ann stores") {
		t.Errorf("got %v after %d tasks of %d bytes", err, n-1, each)
	}
	m.restart()
	if err := send(); status.Of(err) != status.ResourceExhausted {
		t.Errorf("after a restart: got %v", err)
	}
	if got := (*q).Stored(7)[quota.Contexts]; got != limit/each*each {
		t.Errorf("after a restart: got %d bytes, want those of %d tasks", got, limit/each)
	}
	if _, err := m.tasks.Launch(t.Context(), bob(), command(t, `{"entrypoint": ["b"]}`), nil); err != nil {
		t.Errorf("another user: got %v", err)
	}
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if got := (*q).Stored(7)[quota.Contexts]; got != 0 {
		t.Errorf("no longer listed: got %d bytes", got)
	}
	if err := send(); err != nil {
		t.Errorf("no longer listed: got %v", err)
	}
}

// random returns incompressible bytes.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b) //nolint:errcheck // it never fails
	return b
}

func (m *master) ship(task, text string) {
	m.t.Helper()
	err := m.tasks.Ship(m.t.Context(), ann(), &apiv1.PostTaskLogsRequest{Logs: []*apiv1.TaskLog{{TaskId: task, Log: text}}})
	if err != nil {
		m.t.Fatal(err)
	}
}

func TestLogsCountAsStoredUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	m, q := limited(t, 0)
	one, two := m.launch(`{"entrypoint": ["a"]}`).GetCommand().GetId(), m.launch(`{"entrypoint": ["b"]}`).GetCommand().GetId()
	m.ship(one, strings.Repeat("x", 1000))
	m.ended(first(one), rm.CauseExited, "")
	m.ship(one, "behind the end")
	m.ship(two, strings.Repeat("y", 2000))
	stored := func(why string, task ...string) {
		t.Helper()
		var want int64
		for _, id := range task {
			n, err := store.LogBytes(t.Context(), m.store, id)
			if err != nil || n < 1000 {
				t.Fatalf("%s: got %d bytes, %v", id, n, err)
			}
			want += n
		}
		if got := (*q).Stored(7)[quota.Logs]; got != want {
			t.Errorf("%s: got %d bytes, want %d", why, got, want)
		}
	}
	stored("two logs", one, two)
	m.restart()
	stored("after a restart", one, two)
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	m.ship(two, "more")
	stored("one is not listed", one, two)
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), time.Hour); err != nil {
		t.Fatal(err)
	}
	stored("one is removed", two)
}

func TestFilesOfEarlierVersionsAreCountedOnce(t *testing.T) {
	t.Parallel()
	m := newMaster(t) // without a quota, as earlier versions
	req := command(t, `{"entrypoint": ["a"]}`)
	req.Files = []*apiv1.File{{Path: "a", Type: '0', Content: []byte("some text")}}
	made, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	past := m.launch(`{"entrypoint": ["b"]}`).GetCommand().GetId()
	m.ship(made.GetCommand().GetId(), "some line")
	m.ship(past, "another line")
	m.ended(first(past), rm.CauseExited, "")
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	sizes, err := store.LogBytesByTask(t.Context(), m.store)
	if err != nil || len(sizes) != 2 {
		t.Fatalf("got %v, %v", sizes, err)
	}
	var q *quota.Quota
	m.edit = func(c *task.Config) {
		var err error
		if q, err = quota.Open(t.Context(), c.Store, 0); err != nil {
			t.Fatal(err)
		}
		c.Quota = q
	}
	for range 2 {
		m.stop()
		m.open()
		got := q.Stored(7)
		if logs := sizes[past] + sizes[made.GetCommand().GetId()]; got[quota.Contexts] == 0 || got[quota.Contexts] > 300 || got[quota.Logs] != logs {
			t.Errorf("got %v, want the files of one task, and logs of %d bytes", got, logs)
		}
	}
}
