package task_test

import (
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// The first line of a task is stored with the task. Readers find it in the log exactly once, regardless
// of earlier reads and restarts of the master.
func TestFirstLineIsReadExactlyOnce(t *testing.T) {
	t.Parallel()
	for _, read := range [][3]bool{{}, {true}, {false, true}, {false, false, true}, {true, true, true}} {
		m := newMaster(t)
		id := m.launch(`{"entrypoint":["true"],"description":"x"}`).GetCommand().GetId()
		look := func(at int, want ...string) {
			t.Helper()
			if !read[at] {
				return
			}
			if got := m.lines(id); !slices.Equal(got, want) {
				t.Errorf("read at %v: got %q, want %q", read, got, want)
			}
		}
		waits := "INFO Scheduling x (id: " + id + ".1)"
		look(0, waits)
		m.restart()
		look(1, waits)
		m.assign(first(id), 1)
		m.restart()
		look(2, waits, "INFO x was assigned to an agent")
		m.ended(first(id), rm.CauseKilled, "")
		if got := m.lines(id); len(got) < 3 || !slices.Equal(got[:2], []string{waits, "INFO x was assigned to an agent"}) || slices.Contains(got[2:], waits) {
			t.Errorf("read at %v: got %q at the end", read, got)
		}
	}
}

func TestFollowShowsFirstLineOfWaitingTask(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["true"],"description":"x"}`).GetCommand().GetId()
	lines, err := m.tasks.Log(t.Context(), log.Filter{Task: id}, true)
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range lines {
		if err != nil || line.Text != "Scheduling x (id: "+id+".1)" {
			t.Errorf("got %q and %v", line.Text, err)
		}
		return
	}
	t.Error("got no line")
}

// A client whose submission was acknowledged can read the first line, even while the task is being
// changed.
func TestTheFirstLineIsThereWhileATaskChanges(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["true"],"description":"x"}`).GetCommand().GetId()
	release, written := holdStore(m), make(chan error, 1)
	go func() {
		_, err := m.tasks.Assigned(t.Context(), assignment(first(id), 1))
		written <- err
	}()
	lines := make(chan []string, 1)
	// The delays only decide whether the test detects a reader that does not wait.
	time.AfterFunc(100*time.Millisecond, func() { lines <- m.lines(id) })
	time.AfterFunc(200*time.Millisecond, release)
	if got := <-lines; len(got) == 0 || got[0] != "INFO Scheduling x (id: "+id+".1)" {
		t.Errorf("got %q", got)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// holdStore blocks all writes from now on until release is called.
func holdStore(m *master) (release func()) {
	begun, held := make(chan struct{}), make(chan struct{})
	go func() {
		err := m.store.Write(m.t.Context(), func(*store.Tx) error { close(begun); <-held; return nil })
		if err != nil {
			m.t.Error(err)
		}
	}()
	<-begun
	return func() { close(held) }
}
