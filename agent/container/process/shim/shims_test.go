package shim

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/agent/companion"
)

// beShim makes this test program a shim.
const beShim = "shim"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == beShim {
		log := slog.New(slog.NewTextHandler(os.Stderr, nil))
		if err := Serve(Config{Socket: os.NewFile(SocketFD, "socket"), Path: os.Args[3], Log: log}); err != nil {
			log.Error("shim ended", "err", err)
			os.Exit(1) //nolint:forbidigo // the main of another program
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dir string) *Shims {
	t.Helper()
	s, err := Open(Options{Dir: dir, Command: []string{beShim}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// startTask starts a shell and returns the name of its status file.
func startTask(t *testing.T, s *Shims, script string) (status string, err error) {
	t.Helper()
	return startOrder(t, s, Order{Argv: []string{"/bin/sh", "-c", script}})
}

func startOrder(t *testing.T, s *Shims, o Order) (status string, err error) {
	t.Helper()
	status = filepath.Join(t.TempDir(), "status")
	f, err := os.OpenFile(status, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	out, err := os.OpenFile(status+".out", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	o.Task = status
	_, err = s.Start(t.Context(), o, Files{Status: f, Stdout: out, Stderr: out})
	return status, err
}

// ends waits for the end of a task and returns its lines.
func ends(t *testing.T, s *Shims, status string) []string {
	t.Helper()
	if ended := s.Ended(status); ended != nil {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the task does not end")
		}
	}
	said, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(said))
}

func (s *Shims) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return 0
	}
	return s.own.pid
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("in a minute it never came about that %s", what)
}

func isGone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// The names of sockets are short, however long that of their directory is, and found, whatever
// that contains.
func TestADirectoryMayHaveAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("long/", 40), "[a]*?\\"} {
		dir := filepath.Join(t.TempDir(), name, "shims")
		wait := filepath.Join(t.TempDir(), "wait")
		if err := syscall.Mkfifo(wait, 0o600); err != nil {
			t.Fatal(err)
		}
		before := open(t, dir)
		status, err := startTask(t, before, "read x <"+wait+"; exit 3")
		if err != nil {
			t.Fatal(err)
		}
		before.Close()
		s := open(t, dir)
		if s.Ended(status) == nil {
			t.Errorf("%q: nothing will be said of the task's end", name)
		}
		if err := os.WriteFile(wait, []byte("go\n"), 0); err != nil {
			t.Fatal(err)
		}
		if said := ends(t, s, status); len(said) != 2 || said[1] != "3" {
			t.Errorf("%q: got %q, want an id and 3", name, said)
		}
	}
}

// An agent that has nothing to start lets its shim go, and has another one later.
func TestAShimThatIsNotUsedLeaves(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.idle = 10 * time.Millisecond
	status, err := startTask(t, s, "sleep 0.5")
	if err != nil {
		t.Fatal(err)
	}
	first := s.pid()
	ends(t, s, status)
	eventually(t, "it has left", func() bool { return isGone(first) })
	if _, err := startTask(t, s, "exit 0"); err != nil {
		t.Error(err)
	}
}

// The shim of another program keeps its tasks, gets no others, and leaves after the last.
func TestTheShimOfAnotherProgramKeepsItsTasks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "another")
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test makes meanwhile would have it open for writing.
	syscall.ForkLock.RLock()
	err = os.WriteFile(program, own, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "another"+socketSuffix)
	socket, err := listenAt(path)
	if err != nil {
		t.Fatal(err)
	}
	// It is the program of a shell that is replaced.
	c := companion.Companion{Args: []string{"-c", "exec " + program + " " + beShim + " --socket " + path}, File: socket, Log: companion.Log(filepath.Join(dir, "log"))}
	old, err := runShell(c)
	if err != nil {
		t.Fatal(err)
	}
	_ = socket.Close()
	before := &Shims{opts: Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, idle: time.Hour, links: map[*link]bool{}, tasks: map[string]*running{}}
	conn, err := dial(path)
	if err != nil {
		t.Fatal(err)
	}
	if before.own, err = before.addLink(conn, time.Minute); err != nil {
		t.Fatal(err)
	}
	wait := filepath.Join(t.TempDir(), "wait")
	if err := syscall.Mkfifo(wait, 0o600); err != nil {
		t.Fatal(err)
	}
	status, err := startTask(t, before, "read x <"+wait+"; exit 4")
	if err != nil {
		t.Fatal(err)
	}
	before.Close()
	s := open(t, dir)
	if s.Ended(status) == nil {
		t.Error("nothing will be said of its task's end")
	}
	next, err := startTask(t, s, "exit 5")
	if err != nil {
		t.Fatal(err)
	}
	if now := s.pid(); now == old || now == 0 {
		t.Errorf("got a task started by %d", now)
	}
	ends(t, s, next)
	if err := os.WriteFile(wait, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if said := ends(t, s, status); len(said) != 2 || said[1] != "4" {
		t.Errorf("got %q, want an id and 4", said)
	}
	if _, err := syscall.Wait4(old, nil, 0, nil); err != nil {
		t.Error(err)
	}
}

// runShell starts a shell with what a companion has.
func runShell(c companion.Companion) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	return syscall.ForkExec("/bin/sh", append([]string{"sh"}, c.Args...), &syscall.ProcAttr{Files: []uintptr{null.Fd(), null.Fd(), 2, c.File.Fd()}})
}

// A socket that no one listens on is removed, and what says something else is left alone.
func TestWhatIsNoShimIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, other := filepath.Join(dir, "dead"+socketSuffix), filepath.Join(dir, "other"+socketSuffix)
	for _, path := range []string{dead, other} {
		l, err := listenAt(path)
		if err != nil {
			t.Fatal(err)
		}
		if path == dead {
			_ = l.Close()
			continue
		}
		listener, err := net.FileListener(l)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		defer func() { _ = listener.Close() }()
		go func() {
			if conn, err := listener.Accept(); err == nil {
				_, _ = conn.Write([]byte("\x00\x00\x00\x04what"))
				_ = conn.Close()
			}
		}()
	}
	var said bytes.Buffer
	s, err := Open(Options{Dir: dir, Command: []string{beShim}, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); fmt.Sprint(left) != "["+other+"]" {
		t.Errorf("got %q, want the one that answers", left)
	}
	if !strings.Contains(said.String(), "does not answer") || s.pid() != 0 {
		t.Errorf("got %q and process %d", said.String(), s.pid())
	}
}

// All that is said comes through at once, in any number of pieces.
func TestManyTasksAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	const workers, each = 8, 10
	errs := make(chan error, workers)
	big := "x='" + strings.Repeat("y", 100<<10) + "'; "
	for w := range workers {
		go func() {
			for i := range each {
				code := strconv.Itoa(w*each + i)
				status, err := startTask(t, s, big+"exit "+code)
				if err != nil {
					errs <- err
					return
				}
				if said := ends(t, s, status); len(said) != 2 || said[1] != code {
					errs <- fmt.Errorf("got %q, want an id and %s", said, code)
					return
				}
			}
			errs <- nil
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
