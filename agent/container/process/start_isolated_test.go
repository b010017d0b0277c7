package process

import (
	"bytes"
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

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
)

// isolating returns a runtime with isolation, or skips the test.
func isolating(t *testing.T) *Runtime {
	t.Helper()
	r := newRuntime(t)
	if why := r.Isolation(); why != nil {
		t.Skip(why)
	}
	return r
}

// outcome runs a script as a task and returns its output and exit code.
func outcome(t *testing.T, r *Runtime, spec container.Spec) (said string, code int) {
	t.Helper()
	if err := start(t, r, spec); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err := r.Logs(t.Context(), spec.ID, container.Position{}, func(lines []container.Line) error {
		for _, l := range lines {
			fmt.Fprintf(&b, "%s\n", l.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, err = r.Wait(t.Context(), spec.ID); err != nil {
		t.Fatal(err)
	}
	return b.String(), code
}

// Each entry is an attempt of a task that must fail.
func TestIsolatedTasksReachNothingOfOthers(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	victim := script("victim", "echo secret >$HOME/file; sleep 600")
	victim.Env = []string{"DET_SESSION_TOKEN=secret"}
	if err := start(t, r, victim); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Remove(t.Context(), "victim") })
	eventually(t, "the victim has written its file", func() bool {
		_, err := os.Stat(r.containerDir("victim").filePath("root/file"))
		return err == nil
	})
	host, err := r.containerDir("victim").awaitPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := string(r.containerDir("victim"))
	for i, attempt := range []string{
		"cat /proc/[0-9]*/environ 2>/dev/null | grep -a secret",
		fmt.Sprintf("cat /proc/%d/environ", host),
		fmt.Sprintf("kill -0 %d", host),
		"cat " + d + "/root/file",
		"cat " + d + "/status",
		"ls " + r.opts.Dir + "/*",
		"ls -A /tmp | grep .",
		"cat /etc/shadow",
		"echo 0 >>/proc/1/fd/3",
		"umount " + r.opts.Dir,
		"umount -l /proc",
		"mount -t tmpfs none /tmp",
		"mknod disk b 254 0",
		"unshare -r mount -t proc proc /proc && ls /proc | grep -x " + strconv.Itoa(host),
		"nsenter -t 1 -m true",
		"chroot /proc/1/root true",
		"id -G | grep -wE '0|6'",
		"grep -E '^Cap(Eff|Prm|Amb):.*[1-9a-f]' /proc/self/status",
		"grep -E '^NoNewPrivs:.*0' /proc/self/status",
		"su -c true root </dev/null",
		"ls /proc/self/fd | grep -vE '^(0|1|2|3)$'",
		"test -e /proc/self/fd/4",
	} {
		t.Run(attempt, func(t *testing.T) {
			t.Parallel()
			said, code := outcome(t, r, script(fmt.Sprintf("attempt-%d", i), "cd; "+attempt))
			if code == 0 {
				t.Errorf("it succeeds, and says %q", said)
			}
			if strings.Contains(said, "secret") {
				t.Errorf("it learns %q", said)
			}
		})
	}
}

// The first process runs as the task's user. It cannot be killed from inside, and its status file
// cannot be written.
func TestTheWrapperOfAnIsolatedTaskStays(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	for id, text := range map[string]string{
		"killed": "kill -9 1; kill -9 -1; kill -0 1 && exit 5",
		"asked":  "kill -TERM 1; kill -HUP 1; exit 5",
		"forged": "echo 9 2>/dev/null >>/proc/1/fd/3; exit 5",
	} {
		if said, code := outcome(t, r, script(id, text)); code != 5 {
			t.Errorf("%s: got code %d and %q, want 5", id, code, said)
		}
	}
}

// Flags that one task sets on a shared descriptor would affect the other.
func TestIsolatedTasksShareNoDescriptor(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	var programs []uintptr
	for _, id := range []string{"one", "other"} {
		if err := start(t, r, script(id, "sleep 600")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Remove(t.Context(), id) })
		first, err := r.containerDir(id).awaitPID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program runs", func() bool {
			for _, p := range inside.Processes() {
				if p.Parent == first {
					programs = append(programs, uintptr(p.PID))
					return true
				}
			}
			return false
		})
	}
	for fd := range uintptr(3) {
		differs, _, errno := unix.Syscall6(unix.SYS_KCMP, programs[0], programs[1], 0, fd, fd, 0) // KCMP_FILE
		if errno != 0 {
			t.Skip(errno)
		}
		if differs == 0 {
			t.Errorf("they share %d", fd)
		}
	}
}

// The first process of a task is root. It must not run a program or load a library that the task
// has put in the place of the machine's.
func TestIsolatedTasksGiveRootNoPrograms(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	programs := openDir(t)
	for _, name := range []string{"sh", "mount", "setpriv", "nsenter", "ld.so.preload", "liboops.so"} {
		text := "#!/usr/bin/dash\necho it runs as $(/usr/bin/id -u)\n"
		if name == "ld.so.preload" {
			text = "/etc/liboops.so\n"
		}
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binaries, err := filepath.EvalSymlinks("/bin")
	if err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(*container.Spec){
		func(s *container.Spec) { s.Mounts = []container.Mount{{HostPath: programs, ContainerPath: binaries}} },
		func(s *container.Spec) {
			s.Mounts = []container.Mount{{HostPath: programs, ContainerPath: "/usr/sbin"}, {HostPath: programs, ContainerPath: "/usr/local/bin"}}
		},
		func(s *container.Spec) { s.Mounts = []container.Mount{{HostPath: programs, ContainerPath: "/etc"}} },
		func(s *container.Spec) { s.WorkDir = "/lib/x86_64-linux-gnu" },
		func(s *container.Spec) { s.WorkDir = "/lib64" },
		func(s *container.Spec) {
			s.Files = []container.File{{Path: binaries + "/setpriv", Content: []byte("#!/usr/bin/dash\necho it runs as $(/usr/bin/id -u)\n"), Mode: 0o755}}
		},
	} {
		spec := script(fmt.Sprintf("programs-%d", i), "id -u")
		change(&spec)
		if err := start(t, r, spec); err != nil {
			continue // such as without a shell
		}
		said, err := os.ReadFile(r.containerDir(spec.ID).outputFiles()[1])
		if err != nil {
			t.Error(err)
		}
		_, _ = r.Wait(t.Context(), spec.ID) // without a shell the exit is not recorded
		if said := string(said); strings.Contains(said, "it runs as 0") || strings.Contains(said, "liboops") && strings.Contains(said, "mount") {
			t.Errorf("task %d: got %q: root runs a program of the task's", i, said)
		}
	}
}

func TestIsolatedTasksHaveWhatTheyNeed(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	for i, need := range []string{
		"touch $HOME/a /tmp/b /var/tmp/c /dev/shm/d",
		"echo out >/dev/stdout && echo err >/dev/stderr",
		"test $(id -u) -ge 70000 && test $(id -u) = $(id -g) && test $(id -G) = $(id -g)",
		"test -r /proc/$$/stat && test -r /proc/self/status",
		`test "$QUOTED" = "it's \"so\" \$HOME` + "\n" + `two"`,
		"test $(ls /proc | grep -c '^[0-9]') -lt 8",
		`test "$(whoami 2>/dev/null || echo $USER)" = "task-$(id -u)"`,
		`test "$PWD" = /run/determined/workdir && touch here`,
		`test "$(cat /run/determined/info/cluster.json)" = "of this task" && touch /run/determined/workdir/here`,
		`test "$(df -k /dev/shm | tail -1 | awk '{print $2}')" = 4`,
	} {
		spec := script(fmt.Sprintf("need-%d", i), need)
		spec.Env = []string{"QUOTED=it's \"so\" $HOME\ntwo", "not.a-name=1"}
		spec.ShmSize = 4096
		spec.Files = []container.File{{Path: "/run/determined/info/cluster.json", Content: []byte("of this task"), Mode: 0o600}}
		if said, code := outcome(t, r, spec); code != 0 {
			t.Errorf("%s: got code %d and %q", need, code, said)
		}
	}
}

func TestMountsOfIsolatedTasks(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	data := t.TempDir()
	if err := errors.Join(os.Chmod(data, 0o777), os.WriteFile(filepath.Join(data, "file"), []byte("there\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	spec := script("ro", `cat "$DATA/file" && ! touch "$DATA/new"`)
	spec.Env = []string{"DATA=/data"}
	spec.Mounts = []container.Mount{{HostPath: data, ContainerPath: "/data", ReadOnly: true}}
	if said, code := outcome(t, r, spec); code != 0 || !strings.HasPrefix(said, "there\n") {
		t.Errorf("read-only: got code %d and %q", code, said)
	}
	link := filepath.Join(data, "link")
	if err := os.Symlink(r.opts.Dir, link); err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{r.opts.Dir, string(r.containerDir("ro")), link} {
		spec := script("no", "true")
		spec.Mounts = []container.Mount{{HostPath: forbidden, ContainerPath: "/data"}}
		if err := start(t, r, spec); err == nil || !strings.Contains(err.Error(), "tasks may not mount") {
			t.Errorf("mount of %s: got %v, want it refused", forbidden, err)
		}
	}
	if err := r.Remove(t.Context(), "ro"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(data, "file")); err != nil {
		t.Errorf("after removal of the task: %v; a mount must not be emptied", err)
	}
}

func TestALinkedAccountIsTheTasksUser(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	spec := script("linked", "id -u; id -g; touch here && ls /proc | grep -c '^[0-9]'")
	spec.User = &container.User{UID: 1234, GID: 4321}
	said, code := outcome(t, r, spec)
	if code != 0 || !strings.HasPrefix(said, "1234\n4321\n") {
		t.Errorf("got code %d and %q", code, said)
	}
	spec = script("root", "id -u")
	spec.User = &container.User{}
	if said, _ := outcome(t, r, spec); said == "0\n" {
		t.Error("a task is root")
	}
	for _, reserved := range []container.User{{UID: 80001, GID: 80001}, {GID: 80001}} {
		spec.User = &reserved
		if err := start(t, r, spec); err == nil || !strings.Contains(err.Error(), "task_users") {
			t.Errorf("the account %v within the range: got %v, want it refused", reserved, err)
		}
	}
}

func TestGroupWithoutAccount(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	spec := script("group", "id -u; id -g; touch here && stat -c %g here")
	spec.User = &container.User{GID: 4321}
	said, code := outcome(t, r, spec)
	if user, rest, _ := strings.Cut(said, "\n"); code != 0 || user == "0" || rest != "4321\n4321\n" {
		t.Errorf("got code %d and %q, want a user of the range with the group 4321", code, said)
	}
}

// An unset path hides nothing, not even the working directory.
func TestUnsetPathsAreNotHidden(t *testing.T) {
	t.Parallel()
	o := plainOptions(t)
	o.Hidden = []string{"", "/no/such"}
	r := withOptions(t, o)
	real, err := filepath.EvalSymlinks(r.opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{real, "/no/such"}; !slices.Equal(r.hidden, want) {
		t.Errorf("got %q hidden, want %q", r.hidden, want)
	}
}

// Programs that leave their session and their parent are killed with the task.
func TestDaemonsOfIsolatedTasksDie(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	daemon := "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.1; done' >/dev/null 2>&1 &"
	for name, end := range map[string]func(id string) (int, error){
		"killed": func(id string) (int, error) {
			if err := r.Signal(t.Context(), id, container.Kill); err != nil {
				return 0, err
			}
			return r.Wait(t.Context(), id)
		},
		"ended": func(id string) (int, error) { return r.Wait(t.Context(), id) },
	} {
		text := daemon + " touch $HOME/ready; sleep 600"
		want := 137
		if name == "ended" {
			text, want = daemon+" touch $HOME/ready; exit 3", 3
		}
		if err := start(t, r, script(name, text)); err != nil {
			t.Fatal(err)
		}
		d := r.containerDir(name)
		eventually(t, "the daemon runs", func() bool {
			_, err := os.Stat(d.filePath("root/ready"))
			return err == nil
		})
		uid, _ := d.isolatedUser()
		if code, err := end(name); err != nil || code != want {
			t.Errorf("%s: got %d, %v, want %d", name, code, err, want)
		}
		if pids := processesOf(uid); len(pids) != 0 {
			t.Errorf("%s: processes %v of its user are left", name, pids)
		}
	}
}

func processesOf(uid int) []int {
	var out []int
	for _, p := range inside.Processes() {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(p.PID), &st) == nil && int(st.Uid) == uid {
			out = append(out, p.PID)
		}
	}
	return out
}

// A task may survive its agent and its directory.
func TestAUserWithProcessesIsNotGivenToATask(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs processes as other users")
	}
	a := claims{Accounts: Accounts{First: 65546, Last: 65547, Dir: t.TempDir()}}
	left := exec.CommandContext(t.Context(), "sleep", "600")
	left.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.First), Gid: uint32(a.First)}}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	if uid, err := a.claimUID(dir(t.TempDir())); err != nil || uid != a.Last {
		t.Errorf("while user %d has a process: got user %d and %v, want %d", a.First, uid, err, a.Last)
	}
	if err := left.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = left.Wait() // it was killed
	if uid, err := a.claimUID(dir(t.TempDir())); err != nil || uid != a.First {
		t.Errorf("after its end: got user %d and %v, want %d", uid, err, a.First)
	}
}

func TestUnixUserIsExclusiveToTask(t *testing.T) {
	t.Parallel()
	why := isolating(t).Isolation()
	if why != nil {
		t.Skip(why)
	}
	o := plainOptions(t)
	o.Accounts = Accounts{First: 65536, Last: 65537, Dir: t.TempDir()}
	r, other := withOptions(t, o), withOptions(t, Options{Dir: t.TempDir(), Accounts: o.Accounts})
	if _, code := outcome(t, r, script("a", "echo mine >/tmp/x; echo mine >$HOME/x")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	if err := start(t, other, script("b", "sleep 600")); err != nil {
		t.Fatal(err)
	}
	a, _ := r.containerDir("a").isolatedUser()
	b, _ := other.containerDir("b").isolatedUser()
	if a == b {
		t.Errorf("two agents gave two tasks user %d", a)
	}
	if err := start(t, r, script("c", "true")); err == nil || !strings.Contains(err.Error(), "task_users are in use") {
		t.Errorf("a third task: got %v, want it refused: one has ended and still has files", err)
	}
	if err := r.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	said, code := outcome(t, r, script("d", "ls -A /tmp $HOME | grep x"))
	if d, _ := r.containerDir("d").isolatedUser(); d != a || code == 0 {
		t.Errorf("got user %d, want %d again; it finds %q", d, a, said)
	}
	if err := errors.Join(other.Remove(t.Context(), "b"), r.Remove(t.Context(), "d"), r.Remove(t.Context(), "c")); err != nil {
		t.Error(err)
	}
	for uid := o.Accounts.First; uid <= o.Accounts.Last; uid++ {
		if !other.claims.isFree(uid) {
			t.Errorf("user %d is taken after the removal of all", uid)
		}
	}
	left, err := filepath.Glob(filepath.Join(o.Accounts.Dir, "6*"))
	if err != nil || len(left) != 0 {
		t.Errorf("got claims %v, %v, want none", left, err)
	}
}

// A released user ID may be claimed by another agent by then.
func TestForeignClaimIsNotChanged(t *testing.T) {
	t.Parallel()
	a := Accounts{First: 65536, Last: 65536, Dir: t.TempDir()}
	one, other := claims{Accounts: a}, claims{Accounts: a}
	first, second := dir(filepath.Join(t.TempDir(), "a")), dir(filepath.Join(t.TempDir(), "b"))
	claim := func(c *claims, d dir) {
		t.Helper()
		if err := os.Mkdir(string(d), 0o700); err != nil {
			t.Fatal(err)
		}
		if uid, err := c.claimUID(d); err != nil || uid != a.First {
			t.Fatalf("got user %d and %v, want %d", uid, err, a.First)
		}
	}
	claim(&one, first)
	if err := os.Remove(string(first)); err != nil { // the agent is killed at this point
		t.Fatal(err)
	}
	claim(&other, second)
	if err := one.releaseUID(a.First); err != nil {
		t.Fatal(err)
	}
	if owner, err := os.ReadFile(a.ownerFile(a.First)); err != nil || string(owner) != string(second) {
		t.Errorf("got %q, %v, want %q: it is another agent's claim", owner, err, second)
	}
}

func TestOverlappingRangeIsRejected(t *testing.T) {
	t.Parallel()
	err := Accounts{First: 65000, Last: 65535}.checkUID()
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v, want that nobody has 65534", err)
	}
}

// The owner of a task directory of the former version could put links into it.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("1\n0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newPlain(t)
	for _, name := range []string{"status", "stdout", "stderr", "killed", "ports"} {
		d := r.containerDir("planted-" + name)
		if err := os.Mkdir(string(d), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"stdout", "stderr"} {
			if err := d.replaceFile(other, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.RemoveAll(d.filePath(name)), os.Symlink(secret, d.filePath(name))); err != nil {
			t.Fatal(err)
		}
		if name == "killed" {
			if err := d.replaceFile("killed", ""); err != nil {
				t.Fatal(err)
			}
		} else if data, err := d.readFile(name); err == nil {
			t.Errorf("%s: got %q through a link", name, data)
		}
		if _, err := d.openFile(name, logFlags); name != "killed" && err == nil {
			t.Errorf("%s: it is opened for writing through a link", name)
		}
		err := r.Logs(t.Context(), "planted-"+name, container.Position{}, func(lines []container.Line) error {
			t.Errorf("%s: got lines through a link: %q", name, lines[0].Text)
			return nil
		})
		if err == nil && strings.HasPrefix(name, "std") {
			t.Errorf("%s: reading the log succeeds", name)
		}
		if err := os.RemoveAll(string(d)); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "1\n0\n" {
		t.Errorf("the file was changed to %q, %v", data, err)
	}
	pipe := r.containerDir("pipe")
	if err := errors.Join(os.Mkdir(string(pipe), 0o700), unix.Mkfifo(pipe.filePath("status"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Inspect(t.Context(), "pipe"); err == nil {
		t.Error("a pipe passes for a status")
	}
}

// A status file with the ID of another process does not cause it to be killed.
func TestOtherProcessesAreNotKilled(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an agent that is not root can kill what its tasks can")
	}
	r := newPlain(t)
	if err := start(t, r, script("bystander", "sleep 600")); err != nil {
		t.Fatal(err)
	}
	bystander, err := r.containerDir("bystander").awaitPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := r.containerDir("liar")
	if err := errors.Join(os.Mkdir(string(d), 0o700), d.replaceFile("status", strconv.Itoa(bystander)+"\n")); err != nil {
		t.Fatal(err)
	}
	lock, err := d.openFile("status", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	// Before isolation existed, the directory belonged to the task's user.
	if err := errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_EX), os.Chown(string(d), 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []container.Signal{container.Terminate, container.Kill} {
		if err := r.Signal(t.Context(), "liar", sig); err == nil {
			t.Errorf("%s: got no error", sig)
		}
	}
	if s, err := r.Inspect(t.Context(), "bystander"); err != nil || s.Phase != container.Running {
		t.Errorf("got %v, %v, want the bystander running", s.Phase, err)
	}
	if err := errors.Join(lock.Close(), r.Remove(t.Context(), "bystander"), os.RemoveAll(string(d))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A task started by an agent of the former version is found, killed and removed.
func TestTasksOfAgentWithoutIsolationContinue(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	former := withOptions(t, Options{Dir: filepath.Join(openDir(t), "processes")})
	spec := script("old", "echo old; sleep 600")
	spec.User = &container.User{UID: 1234, GID: 1234}
	startFormer(t, former, spec)
	r = withOptions(t, Options{Dir: t.TempDir(), Former: former.opts.Dir, Accounts: r.opts.Accounts})
	d := r.containerDir("old")
	// In that version the whole directory belonged to the task's user.
	if err := os.Chown(string(d), 1234, 1234); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool {
		data, err := d.readFile("stdout")
		return err == nil && string(data) == "old\n"
	})
	if s, err := r.Inspect(t.Context(), "old"); err != nil || s.Phase != container.Running {
		t.Fatalf("got %v, %v, want it running", s.Phase, err)
	}
	if err := r.Signal(t.Context(), "old", container.Kill); err != nil {
		t.Fatal(err)
	}
	if code, err := r.Wait(t.Context(), "old"); err != nil || code != 137 {
		t.Errorf("got %d, %v, want 137", code, err)
	}
	if err := r.Remove(t.Context(), "old"); err != nil {
		t.Error(err)
	}
	if _, err := former.Wait(t.Context(), "old"); !errors.Is(err, container.ErrGone) {
		t.Errorf("got %v, want it gone", err)
	}
}

// A fork bomb hits its limit, and a task that uses too much memory is killed; other tasks are not
// affected.
func TestIsolatedTasksHaveLimits(t *testing.T) {
	t.Parallel()
	o := isolating(t).opts
	o.Limits = Limits{Processes: 20, Memory: 64 << 20}
	r := withOptions(t, o)
	if why := r.Unlimited(); why != nil {
		t.Skip(why)
	}
	if said, code := outcome(t, r, script("forks", "for i in $(seq 40); do sleep 60 & done; jobs | wc -l")); code == 0 && strings.TrimSpace(said) == "40" {
		t.Errorf("got code %d and %q, want no more than 20 processes", code, said)
	}
	if said, code := outcome(t, r, script("grows", "head -c 200m /dev/zero | tail")); code == 0 {
		t.Errorf("got code %d and %d bytes, want it ended", code, len(said))
	}
	if _, code := outcome(t, r, script("other", "exit 3")); code != 3 {
		t.Errorf("got code %d, want 3", code)
	}
}

func TestIsolatedTasksHaveLimitsOfTheirOrder(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	if why := r.Unlimited(); why != nil {
		t.Skip(why)
	}
	forks := script("forks-by-order", "for i in $(seq 40); do sleep 60 & done; jobs | wc -l")
	forks.Processes = 20
	if said, code := outcome(t, r, forks); code == 0 && strings.TrimSpace(said) == "40" {
		t.Errorf("got code %d and %q, want no more than 20 processes", code, said)
	}
	grows := script("grows-by-order", "head -c 200m /dev/zero | tail")
	grows.Memory = 64 << 20
	if said, code := outcome(t, r, grows); code == 0 {
		t.Errorf("got code %d and %d bytes, want it ended", code, len(said))
	}
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	if err := r.Prepare(t.Context(), grows, note); err != nil || notes != nil {
		t.Errorf("got %v and %q, want the limit to apply", err, notes)
	}
	r.machine.notLimited = errors.New("no control groups")
	if got := r.limitsOf(grows, r.machine); got != (Limits{}) {
		t.Errorf("got %+v on a machine without control groups, want none", got)
	}
	if err := r.Prepare(t.Context(), grows, note); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "the memory limit") {
		t.Errorf("got %v and %q, want a note", err, notes)
	}
}

// The agent's systemd unit has a umask that denies other users all access.
func TestIsolatedTasksDoNotDependOnTheAgentsUmask(t *testing.T) {
	t.Parallel()
	isolating(t)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `umask 077; exec "$@"`, "sh",
		"/proc/"+strconv.Itoa(os.Getpid())+"/exe", "-test.run", "^(TestIsolatedTasksHaveWhatTheyNeed|TestTaskFilesHaveTheirPaths)$/files_below|directory_at_the_root|the_files_of|as_it_is")
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("SKIP")) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// The variables of a task, including its tokens, are removed from disk once it has started.
func TestIsolatedTasksLeaveNoVariablesOnDisk(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	spec := script("variables", "sleep 600")
	spec.Env = []string{"DET_SESSION_TOKEN=the-token-of-this-task"}
	if err := start(t, r, spec); err != nil {
		t.Fatal(err)
	}
	at := string(r.containerDir("variables"))
	out, err := exec.CommandContext(t.Context(), "grep", "-rl", "the-token-of-this-task", at+"/config.json", at+"/state", at+"/runc.log").CombinedOutput()
	if err == nil || len(out) > 0 && !bytes.Contains(out, []byte("No such file")) {
		t.Errorf("got %q, want the token nowhere", out)
	}
}
