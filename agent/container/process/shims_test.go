package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// shimsOf are the processes that start tasks in a directory.
func shimsOf(r *Runtime) (pids []int) {
	for _, pid := range listProcesses() {
		line := commandLine(pid)
		if _, runs := readProcess(pid); runs && bytes.Contains(line, []byte(r.opts.Shim.Dir)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func shimOf(t *testing.T, r *Runtime) int {
	t.Helper()
	all := shimsOf(r)
	if len(all) != 1 {
		t.Fatalf("got the processes %v, want one that starts tasks", all)
	}
	return all[0]
}

func startAll(t *testing.T, r *Runtime, specs ...container.Spec) {
	t.Helper()
	for _, s := range specs {
		if err := start(t, r, s); err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
	}
}

func wantCode(t *testing.T, r *Runtime, id string, want int) {
	t.Helper()
	if code, err := r.Wait(t.Context(), id); err != nil || code != want {
		t.Errorf("%s: got code %d and %v, want %d", id, code, err, want)
	}
}

// What a program that cannot be executed ends with, and says, is a shell's.
func TestProgramsThatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	for _, c := range []struct {
		program string
		code    int
		says    string
	}{
		{"no-such-program", 127, "exec: no-such-program: no such file or directory\n"},
		{"/no/such", 127, "exec: /no/such: no such file or directory\n"},
		{"/etc/passwd", 126, "exec: /etc/passwd: permission denied\n"},
		{"/etc", 126, "exec: /etc: permission denied\n"},
	} {
		spec := script("refused"+strconv.Itoa(len(c.says)), "")
		spec.Command, spec.Env = []string{c.program, "argument"}, []string{"PATH=/usr/bin:/bin"}
		if said, code := outcome(t, r, spec); code != c.code || said != c.says {
			t.Errorf("%s: got code %d and %q, want %d and %q", c.program, code, said, c.code, c.says)
		}
	}
}

// The next agent finds the process that started the tasks, which also tells it of their end.
func TestTheNextAgentHasTheShimOfTheLast(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	wait := filepath.Join(openDir(t), "wait")
	if err := unix.Mkfifo(wait, 0o600); err != nil {
		t.Fatal(err)
	}
	startAll(t, r, script("long", "read x <"+wait+"; exit 4"), script("other", "sleep 600"))
	first := shimOf(t, r)
	r.Close()
	next := withOptions(t, r.opts)
	if next.shims.Ended(string(next.containerDir("long"))) == nil {
		t.Error("the next agent is not told of the end of a task")
	}
	startAll(t, next, script("new", "exit 5"))
	wantCode(t, next, "new", 5)
	if now := shimOf(t, next); now != first {
		t.Errorf("got process %d, want %d to start tasks on", now, first)
	}
	if err := os.WriteFile(wait, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	wantCode(t, next, "long", 4)
	// An agent that has no connection, as a keeper, waits as well.
	beside := withOptions(t, Options{Dir: r.opts.Dir})
	if err := beside.Signal(t.Context(), "other", container.Terminate); err != nil {
		t.Fatal(err)
	}
	wantCode(t, beside, "other", 143)
	next.Close()
	eventually(t, "it leaves after the last agent and task", func() bool { return len(shimsOf(r)) == 0 })
	if left, _ := filepath.Glob(filepath.Join(r.opts.Shim.Dir, "*.sock")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// What a shim had that was killed is lost, nothing of it runs on, and the next task has another.
func TestTasksOfAShimThatIsKilledVanish(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	// One has changed its environment, and one has a child that does not end with it.
	startAll(t, r, script("bare", "exec env -i sleep 600"), script("family", "sleep 600 & wait"), script("ended", "exit 6"))
	wantCode(t, r, "ended", 6)
	var pids []int
	for _, id := range []string{"bare", "family"} {
		pid, err := r.awaitPID(t.Context(), id)
		if err != nil || pid == 0 {
			t.Fatalf("%s: got process %d and %v", id, pid, err)
		}
		pids = append(pids, pid)
	}
	first := shimOf(t, r)
	waited := make(chan error, 1)
	go func() {
		_, err := r.Wait(t.Context(), "family")
		waited <- err
	}()
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, container.ErrGone) {
		t.Errorf("got %v, want that it vanished", err)
	}
	eventually(t, "its group is gone", func() bool { return errors.Is(unix.Kill(-pids[1], 0), unix.ESRCH) })
	if _, err := r.Wait(t.Context(), "bare"); !errors.Is(err, container.ErrGone) {
		t.Errorf("got %v, want that it vanished", err)
	}
	_ = unix.Kill(pids[0], unix.SIGKILL) // nothing says any more whose it is
	wantCode(t, r, "ended", 6)
	startAll(t, r, script("next", "exit 7"))
	wantCode(t, r, "next", 7)
	if now := shimOf(t, r); now == first {
		t.Error("the process that was killed starts tasks")
	}
}

// An order that was given is carried out once, whatever becomes of the agent: a task whose order
// is on its way looks as one that is about to run.
func TestAnOrderOutlivesItsAgent(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	startAll(t, r, script("first", "sleep 600"))
	pid := shimOf(t, r)
	goOn := func() { _ = unix.Kill(pid, unix.SIGCONT) }
	t.Cleanup(goOn)
	d, ordered := orderFromStopped(t, r, pid)
	awaitUnread(t)
	r.Close()
	next := withOptions(t, Options{Dir: r.opts.Dir}) // of a shim that does not answer it gets none
	if s, err := next.Inspect(t.Context(), "ordered"); err != nil || s.Phase != container.Running {
		t.Errorf("got %v and %v, want that it is about to run", s.Phase, err)
	}
	goOn()
	if err := <-ordered; err != nil && !strings.Contains(err.Error(), "has ended") {
		t.Errorf("the agent that was killed got %v", err)
	}
	wantCode(t, next, "ordered", 8)
	if said, err := os.ReadFile(d.outputFiles()[0]); err != nil || string(said) != "once\n" {
		t.Errorf("got %q and %v, want its output once", said, err)
	}
	if err := next.Remove(t.Context(), "first"); err != nil {
		t.Error(err)
	}
}

// Of a shim that says no more, as one without free descriptors, a task is known to run that does.
func TestATaskThatRunsHasBegunWhateverItsShimSays(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	startAll(t, r, script("runs", "sleep 600"))
	if began, err := r.containerDir("runs").hasBegun(t.Context()); err != nil || !began {
		t.Errorf("got %v and %v, want that it has begun", began, err)
	}
	if err := r.Remove(t.Context(), "runs"); err != nil {
		t.Error(err)
	}
	if began, err := r.containerDir("runs").hasBegun(t.Context()); err != nil || began {
		t.Errorf("got %v and %v, want that there is none", began, err)
	}
}

// A shim that is killed with an order that it had not begun loses nothing.
func TestAnOrderIsGivenAgainToAnotherShim(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	startAll(t, r, script("first", "exit 1"))
	wantCode(t, r, "first", 1)
	pid := shimOf(t, r)
	d, ordered := orderFromStopped(t, r, pid)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ordered; err != nil {
		t.Fatal(err)
	}
	wantCode(t, r, "ordered", 8)
	if said, err := os.ReadFile(d.outputFiles()[0]); err != nil || string(said) != "once\n" {
		t.Errorf("got %q and %v, want its output once", said, err)
	}
}

// orderFromStopped stops a shim and orders a task from it, whose start gives its error later.
func orderFromStopped(t *testing.T, r *Runtime, pid int) (dir, <-chan error) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, pid)
	ordered := make(chan error, 1)
	go func() { ordered <- r.Start(t.Context(), script("ordered", "echo once; exit 8")) }()
	d := r.containerDir("ordered")
	eventually(t, "it is ordered", func() bool {
		alive, err := d.isAlive()
		return err == nil && alive
	})
	return d, ordered
}

// awaitStopped waits until a process that was told to stop has: one of its threads hears it, and the
// others run on until that one does.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the process has stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is good
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			if _, state, _ := strings.Cut(string(stat), ") "); err == nil && !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return len(threads) > 0
	})
}

// awaitUnread waits until something that this process has sent is not read by who is to read it.
func awaitUnread(t *testing.T) {
	t.Helper()
	const looks = 5 // others of this process are read soon
	seen := map[int]int{}
	eventually(t, "the order is on its way", func() bool {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			fd, _ := strconv.Atoi(e.Name())
			domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
			if err != nil || domain != unix.AF_UNIX {
				continue
			}
			if n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ); err != nil || n == 0 {
				delete(seen, fd)
			} else if seen[fd]++; seen[fd] == looks {
				return true
			}
		}
		return false
	})
}

// A task has what its agent has of the system's opinion of it, and its limit of open files.
func TestTasksDoNotHaveWhatTheirShimHas(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	// Often: each has it before the program does anything, which its children have from it.
	said, code := "", 0
	for i := range 20 {
		spec := script("limits"+strconv.Itoa(i), "")
		spec.Command = []string{"/bin/cat", "/proc/self/oom_score_adj"}
		before := said
		if said, code = outcome(t, r, spec); code != 0 || i > 0 && said != before {
			t.Fatalf("got code %d and %q after %q", code, said, before)
		}
	}
	said, code = outcome(t, r, script("limits", "cat /proc/self/oom_score_adj; ulimit -Sn; ulimit -Hn"))
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(said)
	if code != 0 || len(lines) != 3 || lines[0] != strings.TrimSpace(string(own)) || lines[2] != strconv.FormatUint(limit.Max, 10) {
		t.Errorf("got code %d and %q, want %s and the limit %d", code, said, own, limit.Max)
	}
	if soft, err := strconv.ParseUint(lines[1], 10, 64); err != nil || soft > limit.Cur {
		t.Errorf("got %s open files, want at most %d", lines[1], limit.Cur)
	}
}

// A machine on which it cannot run says so at the start of a task.
func TestAShimThatCannotStartIsSaid(t *testing.T) {
	t.Parallel()
	o := plainOptions(t)
	o.Shim.Command = []string{"-test.run=^$", "-no-such-flag"}
	r := withOptions(t, o)
	err := start(t, r, script("c", "exit 0"))
	if never := (*container.NeverRanError)(nil); !errors.As(err, &never) || !strings.Contains(fmt.Sprint(err), "the process that starts tasks does not begin") {
		t.Errorf("got %v, want that it does not begin", err)
	}
	// A process that another test makes has the lock until its program starts.
	eventually(t, "there is nothing of the task", func() bool {
		s, err := r.Inspect(t.Context(), "c")
		return err == nil && s.Phase == container.Absent
	})
	if err := errors.Join(os.RemoveAll(o.Shim.Dir), os.WriteFile(o.Shim.Dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := New(o); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that a file is in the place of its directory", err)
	}
}
