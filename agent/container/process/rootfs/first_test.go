package rootfs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// taskOf is a task of a process namespace.
type taskOf struct {
	pid          int
	status, said string
}

func canIsolate(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root makes process namespaces")
	}
	canStart(t)
	// As an agent does at its start: what the parent of the tests has left open is not the task's.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// startFirst starts a task in a directory of the test's.
func startFirst(t *testing.T, p Program, open bool) (taskOf, error) {
	t.Helper()
	dir := t.TempDir()
	at := taskOf{status: filepath.Join(dir, "status"), said: filepath.Join(dir, "said")}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	openAbove := func(name string, flags int) *os.File {
		f, err := os.OpenFile(name, flags, 0o600)
		if err == nil {
			f, err = Above(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		return f
	}
	order, err := p.Order(open)
	if err != nil {
		return at, err
	}
	program, err := NewFirst()
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, order, program)
	said := openAbove(at.said, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
	first := First{
		Program: program, Order: order, Output: said, Errors: said, Input: openAbove(os.DevNull, os.O_RDONLY),
		Status: openAbove(at.status, os.O_CREATE|os.O_RDWR|os.O_APPEND), OpenFiles: &unix.Rlimit{Cur: 77, Max: 77},
	}
	return at, OnOwnThread(func() error {
		if err := EnterMounts(0); err != nil {
			return err
		}
		if first.Mounts, err = os.Open(ThreadMounts); err == nil {
			first.Mounts, err = Above(first.Mounts)
		}
		if err != nil {
			return err
		}
		defer func() { _ = first.Mounts.Close() }()
		at.pid, err = first.Fork()
		return err
	})
}

// runFirst waits for the end, and returns what was noted and said.
func runFirst(t *testing.T, p Program, open bool) (noted, said string) {
	t.Helper()
	at, err := startFirst(t, p, open)
	if code, err := await(at.pid, err); err != nil || code != 0 {
		t.Fatalf("%q: the first process ends with %d, %v", p.Argv, code, err)
	}
	text, err1 := os.ReadFile(at.status)
	out, err2 := os.ReadFile(at.said)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	pid, code, _ := strings.Cut(string(text), "\n")
	if pid != fmt.Sprint(at.pid) {
		t.Errorf("%q: process %q is noted, want %d", p.Argv, pid, at.pid)
	}
	return code, string(out)
}

func shell(script string) Program {
	return Program{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "A=b c\nd"}, Dir: "/", Credential: &syscall.Credential{Uid: 4711, Gid: 4712}}
}

// Each line is a program, what it ends with, and what is in the task's output.
func TestTheFirstProcessNotesHowTheProgramEnds(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	// Others pass: the programs run as another user.
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"plain": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("exit $1\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	inDir := func(argv ...string) Program {
		p := shell("")
		p.Argv, p.Dir, p.Env = argv, dir, []string{"PATH=/no/such:" + dir}
		return p
	}
	elsewhere := shell("exit 0")
	elsewhere.Dir = "/no/such"
	nobody := inDir("sh")
	nobody.Argv[0] = ""
	for i, c := range []struct {
		p          Program
		code, said string
	}{
		{shell("exit 0"), "0\n", ""},
		{shell("echo done; exit 7"), "7\n", "done\n"},
		{shell("exit 42"), "42\n", ""},
		{shell("exit 255"), "255\n", ""},
		{shell("kill -9 $$"), "137\n", ""},
		{shell("kill -15 $$"), "143\n", ""},
		{shell("(sleep 0.05; exit 3) & sh -c 'sleep 0.02 & exit 4' & wait; exit 5"), "5\n", ""}, // orphans come and go
		{inDir("plain", "8"), "8\n", ""},
		{inDir("text"), "126\n", "exec: text: permission denied\n"},
		{inDir("./" + "text"), "126\n", "exec: ./text: permission denied\n"},
		{inDir("none"), "127\n", "exec: none: no such file or directory\n"},
		{inDir("text/none"), "127\n", "exec: text/none: not a directory\n"},
		{nobody, "127\n", "exec: : no such file or directory\n"},
		{elsewhere, "126\n", "enter /no/such: no such file or directory\n"},
	} {
		code, said := runFirst(t, c.p, false)
		if c.said == "exec: text/none: not a directory\n" {
			said = strings.Replace(said, "no such file or directory", "not a directory", 1)
		}
		if code != c.code || said != c.said {
			t.Errorf("%d: %q: got code %q and %q, want %q and %q", i, c.p.Argv, code, said, c.code, c.said)
		}
	}
}

// Each is something that the program looks for; none may fail.
func TestTheProgramOfAFirstProcessHasItsOwnAndNothingElse(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	p := shell(strings.Join([]string{
		`[ "$(id -u):$(id -g):$(id -G)" = "4711:4712:4712 4713 4714" ]`,
		`[ "$A" = "b c` + "\n" + `d" ]`,
		`[ "$(ulimit -n)" = 77 ]`,
		`[ "$(umask)" = 0000 ]`,
		`[ "$(pwd)" = /usr ]`,
		`[ -z "$(ls /proc/self/fd | grep -vE '^(0|1|2|3)$')" ]`, // 3 is the list's own
		`[ "$(tr '\0' ' ' </proc/1/cmdline)" = "det-deploy-task " ]`,
		`[ "$$" = 2 ]`,
		`! cat /proc/1/environ 2>&-`,
		`! cat /proc/1/mem 2>&-`,
		`! ls /proc/1/fd 2>&-`,
		`! kill -9 1 2>&-`,
		`[ "$(cut -d' ' -f6 /proc/self/stat)" = 1 ]`, // the session of the first
		`! read -r line`,
	}, " || exit 1\n") + " || exit 1\n")
	p.Credential.Groups, p.Dir = []uint32{4713, 4714}, "/usr"
	p.Argv[1] = "-xc"
	if code, said := runFirst(t, p, true); code != "0\n" {
		t.Errorf("got code %q:\n%s", code, said)
	}
}

// The first process is deaf to what asks a group to end, and has neither the program's variables nor its
// arguments in its memory.
func TestTheFirstProcessStaysUntilTheProgramEnds(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	p := shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
	p.Env = append(p.Env, "TOKEN=of-this-task")
	at, err := startFirst(t, p, false)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := 2000; ; deadline-- {
		if said, _ := os.ReadFile(at.said); string(said) == "ready\n" {
			break
		}
		if deadline == 0 {
			t.Fatal("the program does not begin")
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 10e6}, nil)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", at.pid))
	if err != nil || strings.Contains(string(maps), "10000000-") {
		t.Errorf("the first process has, %v:\n%s", err, maps)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", at.pid))
	if err != nil || len(environ) > 0 {
		t.Errorf("the first process has the environment %q, %v", environ, err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", at.pid))
	if err != nil || len(fds) != 1 || fds[0].Name() != "3" {
		t.Errorf("the first process has %v open, %v, want the lock alone", fds, err)
	}
	if err := unix.Kill(-at.pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := await(at.pid, nil); err != nil || code != 0 {
		t.Errorf("the first process ends with %d, %v", code, err)
	}
	if noted, err := os.ReadFile(at.status); err != nil || !strings.HasSuffix(string(noted), "\n9\n") {
		t.Errorf("noted is %q, %v", noted, err)
	}
}

func TestManyFirstProcessesAtOnce(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 20 {
				if code, said := runFirst(t, shell(fmt.Sprint("exit ", worker*20+i)), false); code != fmt.Sprintln(worker*20+i) {
					t.Errorf("got code %q and %q, want %d", code, said, worker*20+i)
				}
			}
		})
	}
	all.Wait()
}

// However many places a program is looked for in: what the kernel takes of arguments, an order has room for.
func TestLongArgumentsReachTheProgram(t *testing.T) {
	t.Parallel()
	canIsolate(t)
	p := shell(`eval "exit \${#$#}"`)
	for range 17 {
		p.Argv = append(p.Argv, strings.Repeat("x", 100<<10))
	}
	p.Argv = append(p.Argv, "xxxxx")
	p.Env = []string{"PATH=" + strings.Repeat("/no/such:", 20) + "/usr/bin:/bin"}
	if code, said := runFirst(t, p, false); code != "5\n" {
		t.Errorf("got code %q and %q", code, said)
	}
}

func TestWhatNoOrderHoldsIsRefused(t *testing.T) {
	t.Parallel()
	p := shell("true")
	p.Env = append(p.Env, "LONG="+strings.Repeat("x", orderMost))
	if _, err := p.Order(false); !errors.Is(err, unix.E2BIG) {
		t.Errorf("got %v, want that it is too long", err)
	}
	p = shell("true\x00secret")
	if _, err := p.Order(false); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want the zero refused and no secret said", err)
	}
}

func TestTheFirstProgramIsAPage(t *testing.T) {
	t.Parallel()
	text, err := firstText()
	if err != nil || len(text) < 100 || len(text)+firstEntry > 4096 {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
	f, err := NewFirst()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte{0}, firstEntry); err == nil {
		t.Error("the program of root can be written")
	}
}
