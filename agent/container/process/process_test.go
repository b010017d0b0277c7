package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/test/bench/measure"
	containertest "github.com/det-deploy/det-deploy/test/contract/container"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("DET_DEPLOY_TEST_OF_AGENT", "secret-of-the-agent"); err != nil { // no task may see it
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// newRuntime returns a runtime that isolates tasks if the test runs as root.
func newRuntime(t *testing.T) *Runtime {
	t.Helper()
	o := plainOptions(t)
	if os.Geteuid() == 0 {
		o.Accounts = Accounts{First: 80000, Last: 89999, Dir: filepath.Join(os.TempDir(), "det-deploy-test-users")}
	}
	return withOptions(t, o)
}

// newPlain returns a runtime without isolation.
func newPlain(t *testing.T) *Runtime {
	t.Helper()
	return withOptions(t, plainOptions(t))
}

func plainOptions(t *testing.T) Options {
	t.Helper()
	// Not t.TempDir, which other users cannot traverse.
	lent, err := os.MkdirTemp("", "lent") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(lent) }) // leftovers in a temporary directory are harmless
	if err := os.Chmod(lent, 0o711); err != nil {
		t.Fatal(err)
	}
	return Options{Dir: filepath.Join(t.TempDir(), "tasks"), HostIP: "192.0.2.7", Lent: lent}
}

func withOptions(t *testing.T, o Options) *Runtime {
	t.Helper()
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(context.WithoutCancel(t.Context()), r) })
	return r
}

// removeAll removes the remaining processes and control groups of a test.
func removeAll(ctx context.Context, r *Runtime) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	ids, _ := r.List(ctx, "") // leftovers of a test are harmless
	for _, id := range ids {
		_ = r.Remove(ctx, id)
	}
}

// openDir returns a temporary directory that other users can traverse.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func script(id, text string) container.Spec {
	return container.Spec{
		ID: id, Command: []string{"sh", "-c", text},
	}
}

func start(t *testing.T, r *Runtime, spec container.Spec) error {
	t.Helper()
	if err := r.Prepare(t.Context(), spec, func(string) {}); err != nil {
		return err
	}
	return r.Start(t.Context(), spec)
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *Runtime{"as well as can be": newRuntime, "plain": newPlain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			containertest.Suite{
				New: func(t *testing.T) container.Runtime { return make(t) },
				Again: func(t *testing.T, r container.Runtime) container.Runtime {
					return withOptions(t, r.(*Runtime).opts)
				},
				Spec: script,
			}.Run(t)
		})
	}
}

// Runs the tests of this file as an agent that is not root.
func TestRunAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this is not root, and so the others show it")
	}
	const nobody = 65534
	dir := openDir(t)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// A process forked by a parallel test would have the file open for writing until it executes,
	// and the exec would fail with ETXTBSY.
	syscall.ForkLock.RLock()
	err = os.WriteFile(filepath.Join(dir, "test"), program, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run", "^Test[^I]", "-test.short")
	cmd.Dir, cmd.Env = tmp, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "HOME=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestInvalidSpecsAreRejected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*container.Spec)
		want   string
	}{
		{"no entrypoint", func(s *container.Spec) { s.Command = nil }, "an entrypoint is required"},
		{"capabilities", func(s *container.Spec) { s.AddCaps = []string{"SYS_PTRACE"} }, "SYS_PTRACE"},
		{"a mount of nothing", func(s *container.Spec) {
			s.Mounts = []container.Mount{{HostPath: "/no/such", ContainerPath: "/d"}}
		}, "no such file"},
		{"a mount over the task's files", func(s *container.Spec) {
			s.Mounts = []container.Mount{{HostPath: "/tmp", ContainerPath: "/run/determined"}}
		}, "a file of the task exists"},
		{"a device by another name", func(s *container.Spec) {
			s.Devices = []container.Device{{HostPath: "/dev/null", ContainerPath: "/dev/x"}}
		}, "cannot map it to /dev/x"},
		{"a file through a link out of the container", func(s *container.Spec) {
			s.Files = []container.File{{Path: "/a", Link: "/tmp"}, {Path: "/a/b", Content: []byte("x"), Mode: 0o644}}
		}, "create /a/b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newPlain(t)
			spec := script("c", "exit 0")
			tc.change(&spec)
			err := start(t, r, spec)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
			if s, err := r.Inspect(t.Context(), "c"); err != nil || s.Phase != container.Absent {
				t.Errorf("got %v, %v, want absent", s, err)
			}
		})
	}
}

func TestIgnoredOptionsAreReported(t *testing.T) {
	t.Parallel()
	r := unplaced(t)
	spec := script("c", "exit 0")
	spec.Image, spec.ShmSize, spec.NetworkMode = "pytorch", 4096, "bridge"
	spec.Env = []string{"A_1=x", "a.b=x"}
	var notes []string
	if err := r.Prepare(t.Context(), spec, func(s string) { notes = append(notes, s) }); err != nil {
		t.Fatal(err)
	}
	want := []string{"this agent runs tasks without Docker; ignored: image pytorch, shm_size 4096, variable a.b, network_mode bridge"}
	if !slices.Equal(notes, want) {
		t.Errorf("got %q, want %q", notes, want)
	}
	notes, spec.Env, spec.Unset = nil, nil, container.Unset{Image: true, ShmSize: true, NetworkMode: true}
	if err := r.Prepare(t.Context(), spec, func(s string) { notes = append(notes, s) }); err != nil || notes != nil {
		t.Errorf("of what was not set it says %q, %v", notes, err)
	}
}

func TestPathsAreMapped(t *testing.T) {
	t.Parallel()
	m := newMapping("/r", container.Spec{
		WorkDir: "/home/me", Mounts: []container.Mount{{ContainerPath: "/data"}},
		Files: []container.File{{Path: "/etc/ssh/ssh_config"}},
	})
	args := m.mapArgs([]string{
		"/run/determined/x.sh", "/home/me", "/home/meadow", "--dir=/data/a", "a=/data", "/etc/ssh", "/etc/ssh/ssh_config", "sh",
	})
	wantArgs := []string{
		"/r/run/determined/x.sh", "/r/home/me", "/home/meadow", "--dir=/r/data/a", "a=/data", "/etc/ssh", "/r/etc/ssh/ssh_config", "sh",
	}
	if !slices.Equal(args, wantArgs) {
		t.Errorf("got %q, want %q", args, wantArgs)
	}
	env := m.mapEnv([]string{"A=/run/determined", "B=/bin:/data/bin", "C=http://h:1/data"})
	wantEnv := []string{"A=/r/run/determined", "B=/bin:/r/data/bin", "C=http://h:1/data"}
	if !slices.Equal(env, wantEnv) {
		t.Errorf("got %q, want %q", env, wantEnv)
	}
}

func TestPortsAreThoseOfTheHost(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	spec := script("c", "sleep 600")
	spec.Ports = []int{8888, 22}
	if err := start(t, r, spec); err != nil {
		t.Fatal(err)
	}
	s, err := r.Inspect(t.Context(), "c")
	want := []container.Address{
		{ContainerIP: "192.0.2.7", ContainerPort: 8888, HostIP: "192.0.2.7", HostPort: 8888},
		{ContainerIP: "192.0.2.7", ContainerPort: 22, HostIP: "192.0.2.7", HostPort: 22},
	}
	if err != nil || !slices.Equal(s.Addresses, want) {
		t.Errorf("got %v, %v, want %v", s.Addresses, err, want)
	}
	if err := r.Remove(t.Context(), "c"); err != nil {
		t.Error(err)
	}
}

// A process that left its group and its parent still has the mark.
func TestKillFindsProcessesOutsideGroup(t *testing.T) {
	t.Parallel()
	r := unplaced(t)
	file := filepath.Join(t.TempDir(), "pid")
	if err := start(t, r, script("runaway", `(setsid sh -c 'echo $$ >`+file+`; sleep 600' &) ; sleep 600`)); err != nil {
		t.Fatal(err)
	}
	pid := 0
	eventually(t, "the runaway has written its id", func() bool {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(string(bytes.TrimSpace(data)))
		return err == nil
	})
	if err := r.Signal(t.Context(), "runaway", container.Kill); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the runaway is dead", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
	if code, err := r.Wait(t.Context(), "runaway"); err != nil || code != 137 {
		t.Errorf("got %d, %v, want 137", code, err)
	}
}

func TestLeftoverProcessesAreKilled(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	if err := start(t, r, script("left", "sleep 600 & sleep 0.5; exit 3")); err != nil {
		t.Fatal(err)
	}
	pid, err := r.containerDir("left").awaitPID(t.Context())
	if err != nil || pid == 0 {
		t.Fatalf("got process %d, %v, want the first", pid, err)
	}
	if code, err := r.Wait(t.Context(), "left"); err != nil || code != 3 {
		t.Fatalf("got %d, %v, want 3", code, err)
	}
	eventually(t, "the group is empty", func() bool {
		return !slices.ContainsFunc(inside.Processes(), func(p inside.Proc) bool { return p.Session == pid })
	})
}

// Tasks do not inherit a descriptor of the agent.
func TestTasksInheritNoDescriptors(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t)
	if err := start(t, r, script("fds", fmt.Sprintf("[ ! -e /proc/self/fd/%d ]", f.Fd()))); err != nil {
		t.Fatal(err)
	}
	if code, err := r.Wait(t.Context(), "fds"); err != nil || code != 0 {
		t.Errorf("got %d, %v, want the descriptor closed", code, err)
	}
}

// A signal right after the start reaches the program, not the shell.
func TestTerminateRightAfterTheStart(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for i := range 30 {
		id := strconv.Itoa(i)
		if err := start(t, r, script(id, "exec sleep 600")); err != nil {
			t.Fatal(err)
		}
		if err := r.Signal(t.Context(), id, container.Terminate); err != nil {
			t.Fatal(err)
		}
		if code, err := r.Wait(t.Context(), id); err != nil || code != 143 {
			t.Fatalf("start %d: got %d, %v, want 143", i, code, err)
		}
	}
}

// A machine that lost power leaves an ID without a lock or an exit code.
func TestAVanishedShellIsGone(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	if err := start(t, r, script("v", "sleep 600")); err != nil {
		t.Fatal(err)
	}
	pid, err := r.containerDir("v").awaitPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the id is written", func() bool {
		s, err := r.containerDir("v").readStatus()
		return s.started && err == nil
	})
	if err := unix.Kill(-pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context(), "v"); err == nil || !strings.Contains(err.Error(), container.ErrGone.Error()) {
		t.Errorf("got %v, want ErrGone", err)
	}
}

func BenchmarkShortTask(b *testing.B) {
	for _, isolated := range []bool{false, true} {
		b.Run(fmt.Sprintf("isolated=%v", isolated), func(b *testing.B) { benchmarkShortTask(b, isolated) })
	}
}

func benchmarkShortTask(b *testing.B, isolated bool) {
	o := Options{Dir: filepath.Join(b.TempDir(), "tasks")}
	if isolated {
		o.Accounts = Accounts{First: 80000, Last: 89999, Dir: b.TempDir()}
	}
	r, err := New(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	if why := r.Isolation(); isolated && why != nil {
		b.Skip(why)
	}
	// As many at once as on a small agent.
	b.SetParallelism(8)
	own, children := measure.Processor(), measure.ProcessorOfChildren()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := strconv.FormatInt(time.Now().UnixNano(), 10)
			if err := r.Start(b.Context(), script(id, "exit 0")); err != nil {
				b.Fatal(err)
			}
			if err := r.Logs(b.Context(), id, container.Position{}, func([]container.Line) error { return nil }); err != nil {
				b.Fatal(err)
			}
			if err := r.Remove(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(each(measure.Processor()-own), "ms-cpu/task")
	b.ReportMetric(each(measure.ProcessorOfChildren()-children), "ms-cpu-children/task")
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		if is() {
			return
		}
	}
	t.Fatalf("in 20 s it never came about that %s", what)
}

// The agent's data_dir is often below a directory that only its user can enter, such as /root.
func TestALinkedAccountReachesItsFilesWithoutIsolation(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	r := newPlain(t)
	if err := os.Chmod(filepath.Dir(r.opts.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := script("linked", `id -u; id -g; touch here && cat "$GIVEN"`)
	spec.User = &container.User{UID: 1234, GID: 4321}
	spec.Files = []container.File{{Path: "/run/determined/given", Content: []byte("given\n"), Mode: 0o600, UID: 1234, GID: 4321}}
	spec.Env = []string{"GIVEN=/run/determined/given"}
	said, code := outcome(t, r, spec)
	if code != 0 || said != "1234\n4321\ngiven\n" {
		t.Errorf("got code %d and %q, want its account and its file", code, said)
	}
	root, _ := r.containerDir("linked").lentFiles()
	if err := r.Remove(t.Context(), "linked"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after removal %s is there: %v", root, err)
	}
}

// Without a user of its own a task has the agent's PATH.
func TestPathOfATaskIsNotTheAgents(t *testing.T) {
	const agents = "/home/ann/bin:/bin"
	t.Setenv("PATH", agents)
	own := account{User: container.User{UID: 70000, GID: 70000}}
	for _, tc := range []struct {
		who  account
		env  []string
		want string
	}{
		{own, nil, searchPath},
		{own, []string{"PATH=/opt/bin"}, "/opt/bin"},
		{ownAccount(), nil, agents},
	} {
		env := taskEnviron(tc.who, container.Spec{Env: tc.env})
		if !slices.Contains(env, "PATH="+tc.want) || slices.Contains(env, "PATH="+agents) != (tc.want == agents) {
			t.Errorf("got %q, want PATH=%s", env, tc.want)
		}
	}
}

// An agent that is killed before it starts the program may hold the lock for a moment longer.
func TestTaskThatWasNeverStartedIsAbsent(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	d := r.containerDir("early")
	if err := os.Mkdir(string(d), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := d.openFiles()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, f.close)
	if s, err := r.Inspect(t.Context(), "early"); err != nil || s.Phase != container.Absent {
		t.Errorf("got %v and %v, want a container that was never started", s.Phase, err)
	}
}
