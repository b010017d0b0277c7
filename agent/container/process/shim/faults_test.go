package shim

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A shim that ends right after its greeting is not the one that tasks are ordered from for good.
func TestNothingIsOrderedFromAShimThatHasEnded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Write(hello{pid: os.Getpid()}.encode())
			_ = conn.Close()
		}
	}()
	conn, err := dial(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.addLink(conn, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	<-l.gone
	s.mu.Lock()
	err = s.orderFrom(l)
	s.mu.Unlock()
	if !errors.Is(err, ErrLost) || s.pid() != 0 {
		t.Errorf("got %v and process %d", err, s.pid())
	}
	if _, err := startTask(t, s, "exit 0"); err != nil {
		t.Error(err)
	}
}

// What a shim would not read is not sent to it: it would have to take the sender for another program.
func TestAnOrderThatIsTooLongHarmsNoOther(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	if _, err := startTask(t, s, "exit 0"); err != nil {
		t.Fatal(err)
	}
	first := s.pid()
	if _, err := startTask(t, s, strings.Repeat("x", mostBytes+1)); !errors.Is(err, unix.E2BIG) || errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	status, err := startTask(t, s, "exit 2")
	if err != nil {
		t.Fatal(err)
	}
	if said := ends(t, s, status); len(said) != 2 || said[1] != "2" || s.pid() != first {
		t.Errorf("got %q from process %d, want 2 from %d", said, s.pid(), first)
	}
}

// The first line is always an id: a code that stood there would be taken for one.
func TestTheEndOfAProcessThatNotedNothingIsWhole(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{"": "4194305\n137\n", "4194305\n": "4194305\n137\n"} {
		name := filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_APPEND|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		(&children{}).noteEnd(4194305, child{status: fd}, 137) // no process has this id
		if said, err := os.ReadFile(name); err != nil || string(said) != want {
			t.Errorf("after %q: got %q and %v, want %q", before, said, err, want)
		}
	}
}

// A server of files that does not answer holds up who needs it, and no other task.
func TestATaskThatWaitsForItsFilesHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	at := mountSilent(t)
	s := open(t, t.TempDir())
	if _, err := startTask(t, s, "exit 0"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Order{
		{Argv: []string{filepath.Join(at.dir, "program")}},
		{Argv: []string{"program"}, Env: []string{"PATH=" + at.dir}},
		{Argv: []string{"true"}, Dir: filepath.Join(at.dir, "sub")},
	} {
		waits := make(chan struct{})
		go func() {
			defer close(waits)
			_, _ = startOrder(t, s, o) // it fails in the end
		}()
		eventually(t, "it is ordered", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.own != nil && s.own.orders > 0
		})
		status, err := startTask(t, s, "exit 3")
		if err != nil {
			t.Fatal(err)
		}
		if said := ends(t, s, status); len(said) != 2 || said[1] != "3" {
			t.Errorf("got %q, want an id and 3", said)
		}
		select {
		case <-waits:
			t.Errorf("%v: does not wait", o.Argv)
		default:
		}
		t.Cleanup(func() { <-waits })
	}
	at.answer()
}

// silent is a mounted file system that answers nothing.
type silent struct {
	dir string
	// answer has all that waits for it fail.
	answer func()
}

func mountSilent(t *testing.T) silent {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no file system can be made here: %v", err)
	}
	f := os.NewFile(uintptr(fd), "fuse")
	dir := t.TempDir()
	err = unix.Mount("silent", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, "fd="+strconv.Itoa(fd)+",rootmode=40000,user_id=0,group_id=0")
	if err != nil {
		_ = f.Close()
		t.Skipf("no file system can be mounted here: %v", err)
	}
	out := silent{dir: dir, answer: func() { _ = f.Close() }}
	t.Cleanup(func() {
		out.answer()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return out
}
