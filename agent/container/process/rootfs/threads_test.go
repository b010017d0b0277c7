package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seen is where a thread is.
type seen struct {
	thread      int
	space       uint64
	root, inner bool // it sees the machine's root, and what was mounted for a job before
}

func look(t *testing.T, machine os.FileInfo, mounted string) (s seen) {
	t.Helper()
	s.thread = unix.Gettid()
	var err error
	if s.space, err = MountSpace(); err != nil {
		t.Error(err)
	}
	here, err := os.Stat("/")
	if err != nil {
		t.Error(err)
	}
	s.root = os.SameFile(here, machine)
	_, err = os.Stat(filepath.Join(mounted, "here"))
	s.inner = err == nil
	return s
}

func TestAThreadThatWasInAMountNamespaceGoesBackAndIsUsedAgain(t *testing.T) {
	threads := newThreads(t)
	home, err := MountSpace()
	machine, serr := os.Stat("/")
	if err := errors.Join(err, serr); err != nil {
		t.Fatal(err)
	}
	at, source := emptyDir(t, "at"), emptyDir(t, "source")
	if err := os.WriteFile(filepath.Join(source, "here"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var first, second seen
	// The second place is not there: the tree gets a root of its own.
	tree := Tree{Places: []Place{{Path: at, Source: source}, {Path: "/det-deploy-nowhere/x", Source: source}}, Stage: emptyDir(t, "stage"), UID: 1, GID: 1}
	err = threads.Run(func() error {
		if err := errors.Join(EnterMounts(0), tree.Enter()); err != nil {
			return err
		}
		first = look(t, machine, at)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// It waits a moment after it was heard of that the first function had ended.
	for deadline := time.Now().Add(20 * time.Second); second.thread != first.thread && time.Now().Before(deadline); {
		err = threads.Run(func() error {
			second = look(t, machine, at)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if first.space == home || !first.inner {
		t.Errorf("in its namespace: got %+v, the process has %d", first, home)
	}
	if want := (seen{thread: first.thread, space: home, root: true}); second != want {
		t.Errorf("afterwards: got %+v, want %+v", second, want)
	}
}

func TestThreadsRunWhatIsMoreThanWaitsForThem(t *testing.T) {
	threads := newThreads(t)
	home, err := MountSpace()
	machine, serr := os.Stat("/")
	if err := errors.Join(err, serr); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	for range 3 {
		var all sync.WaitGroup
		begun := make(chan int, 3*waitingMost)
		goOn := make(chan struct{})
		for range cap(begun) {
			all.Go(func() {
				err := threads.Run(func() error {
					if s := look(t, machine, "/nowhere"); s.space != home || s.thread == os.Getpid() {
						t.Errorf("got %+v, the process %d has %d", s, os.Getpid(), home)
					}
					err := EnterMounts(0)
					begun <- unix.Gettid()
					<-goOn
					return errors.Join(err, refused)
				})
				if !errors.Is(err, refused) {
					t.Error(err)
				}
			})
		}
		ids := map[int]bool{}
		for range cap(begun) {
			ids[<-begun] = true
		}
		close(goOn)
		all.Wait()
		if len(ids) != cap(begun) {
			t.Errorf("got %d threads for %d functions at once", len(ids), cap(begun))
		}
		if n := threads.waiting.Load(); n > waitingMost {
			t.Errorf("%d threads wait, of at most %d", n, waitingMost)
		}
	}
}

func newThreads(t *testing.T) *Threads {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes mount namespaces without others of users")
	}
	err := OnOwnThread(func() error { return EnterMounts(0) })
	if err != nil {
		t.Skip(err)
	}
	threads, err := NewThreads()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := threads.Close(); err != nil {
			t.Error(err)
		}
	})
	return threads
}
