package process

import (
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

// inMemory is a runtime whose tasks have their directories in memory, and leave what they
// have on disk to the next.
func inMemory(t *testing.T) *Runtime {
	t.Helper()
	r := newPlain(t)
	if r.onDisk == nil {
		t.Skip("this user has no directory in memory, or no mount namespaces")
	}
	r.onDisk.lookFor = 4
	return r
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// manyTasks are enough for directories to be used again.
const manyTasks = 60

func TestTasksUseTheDirectoriesOfOthersThatFindNothingInThem(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	const text = `ls -Am . .. ../info; stat -c %a . .. ../info; cat ../info/cluster.json; echo x 2>/dev/null >../info/new || echo sealed
		echo left >here; echo left >../here; ln -s /etc ../link; mkdir -p a/b; chmod 1777 . ..; echo err >&2`
	directories, files := map[uint64]bool{}, map[uint64]bool{}
	for i := range manyTasks {
		spec := script(fmt.Sprint("task-", i), text)
		spec.Files = []container.File{
			{Path: runDir + "/workdir", Dir: true, Mode: 0o700}, // as the master's orders have it
			{Path: runDir + "/info/cluster.json", Content: []byte(spec.ID + "\n"), Mode: 0o640},
		}
		said, code := outcome(t, r, spec)
		want := ".: ..: info, workdir ../info: cluster.json 700 755 755 " + spec.ID + " sealed err"
		if got := strings.Join(strings.Fields(said), " "); code != 0 || got != want {
			t.Fatalf("task %d: got code %d and %q, want %q: what it was given, and its own output", i, code, got, want)
		}
		d := r.containerDir(spec.ID)
		directories[inode(t, workdirOf(r, spec))], files[inode(t, d.outputFiles()[1])] = true, true
		if err := r.Remove(t.Context(), spec.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(string(d)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("task %d: got %v, want its directory gone", i, err)
		}
	}
	if len(directories) == manyTasks || len(files) == manyTasks {
		t.Errorf("got %d new directories and %d new files for as many tasks, want those of the ones before", len(directories), len(files))
	}
	withOptions(t, r.opts)
	if left, _ := filepath.Glob(filepath.Join(r.opts.Files, "*")); len(left) > 0 {
		t.Errorf("%q are left for the next agent, want none", left)
	}
}

// A process that left its task may write in its directory until it ends, also in a copy of
// the task's mount namespace.
func TestADirectoryWaitsForAProcessThatLeftItsTask(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{"the session": "setsid", "the mount namespace": "setsid unshare --mount"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTheDirectoryOfOneThatLeft(t, leave)
		})
	}
}

func testTheDirectoryOfOneThatLeft(t *testing.T, leave string) {
	t.Helper()
	r := inMemory(t)
	wanted := filepath.Join(t.TempDir(), "wanted") // a test that ends in the middle removes it, too
	if err := os.WriteFile(wanted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stays := script("stays", leave+` sh -c 'while [ -e `+wanted+` ]; do echo $$ >mine; sleep 0.01; done' >/dev/null 2>&1 & until [ -s mine ]; do sleep 0.01; done`)
	if _, code := outcome(t, r, stays); code != 0 {
		t.Fatalf("got code %d", code)
	}
	// Its work directory, whose number is no other's while the process is in it.
	kept := inode(t, workdirOf(r, stays))
	endWriter(t, filepath.Join(workdirOf(r, stays), "mine"), wanted)
	if err := r.Remove(t.Context(), "stays"); err != nil {
		t.Fatal(err)
	}
	again := map[uint64]bool{}
	for i := range manyTasks {
		spec := script(fmt.Sprint("task-", i), "ls -A")
		if said, _ := outcome(t, r, spec); said != "" {
			t.Errorf("task %d: finds %q of another", i, said)
		}
		at := inode(t, workdirOf(r, spec))
		again[at] = true
		if at == kept {
			t.Errorf("task %d: got the directory of one that still has a process", i)
		}
		if err := r.Remove(t.Context(), spec.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(again) == manyTasks {
		t.Error("got a new directory for each task, want those of the others before")
	}
}

// endWriter ends the process whose number is in a file when the test does, before its directories are
// removed: until a file is gone it writes there.
func endWriter(t *testing.T, noted, wanted string) {
	t.Helper()
	pid := 0
	eventually(t, "the number of the process is whole", func() bool {
		text, _ := os.ReadFile(noted)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	t.Cleanup(func() {
		_ = os.Remove(wanted)
		eventually(t, "the process is gone", func() bool {
			_, runs := readProcess(pid)
			return !runs
		})
	})
}

// A program outside of the task may have got its output, and may write to it later.
func TestOutputThatIsOpenIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if _, code := outcome(t, r, script("first", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	name := r.containerDir("first").outputFiles()[0]
	held, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := r.Remove(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	if n := len(r.onDisk.outputs); n != 1 || r.onDisk.outputs[0].unused {
		t.Fatalf("got the files of %d tasks, want those of one, which are in use", n)
	}
	if _, code := outcome(t, r, script("second", "echo line")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	if again := r.containerDir("second").outputFiles()[0]; again == name {
		t.Error("a file that another process has open is used again")
	}
}

// The keeper ends tasks beside an agent that runs.
func TestARuntimeThatLooksAfterAnAgentsTasksLeavesItsFiles(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if err := start(t, r, script("one", "echo line; sleep 600")); err != nil {
		t.Fatal(err)
	}
	beside := withOptions(t, Options{Dir: r.opts.Dir})
	if _, err := os.Stat(r.containerDir("one").outputFiles()[0]); err != nil {
		t.Error(err)
	}
	if err := beside.Remove(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.opts.Files, "*")); len(left) > 0 {
		t.Errorf("%q are left of a container that was removed", left)
	}
}

// What a task has changed about its directories is not the next one's affair.
func TestADirectoryThatWasChangedIsNotKept(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	for name, text := range map[string]string{
		"owner":     "chown 1234 .",
		"attribute": `python3 -c "import os; os.setxattr('.', 'user.mine', b'1')"`,
	} {
		if said, code := outcome(t, r, script(name, text)); code != 0 {
			t.Fatalf("%s: got code %d and %q", name, code, said)
		}
		at, _ := r.containerDir(name).diskFiles()
		if err := r.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want the directory gone", name, err)
		}
	}
}

func TestLargePaths(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec container.Spec
		want string
	}{
		"what the master orders":           {container.Spec{}, "/run/determined"},
		"a work directory elsewhere":       {container.Spec{WorkDir: "/d/w/"}, "/d/w /run/determined"},
		"a work directory in a mount":      {container.Spec{WorkDir: "/d/w", Mounts: []container.Mount{{ContainerPath: "/d"}}}, "/run/determined"},
		"a work directory with all others": {container.Spec{WorkDir: "/run"}, "/run"},
		"the root":                         {container.Spec{WorkDir: "/"}, "/run/determined"},
		"files elsewhere":                  {container.Spec{Files: []container.File{{Path: "/etc/x"}, {Path: "/etc/y/z"}, {Path: runDir + "/a"}}}, "/etc/x /etc/y/z /run/determined"},
		"a mount of all":                   {container.Spec{Mounts: []container.Mount{{ContainerPath: "/run"}}}, ""},
	} {
		if got := strings.Join(largePaths(c.spec), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What a task can make larger is not in memory, nor do places of its files on disk show each other.
func TestWhatATaskMayFillIsOnDisk(t *testing.T) {
	t.Parallel()
	for kind, r := range placing(t) {
		if r.onDisk == nil {
			t.Skip("this user has no directory in memory")
		}
		spec := script(strings.ReplaceAll(kind, " ", "-"), `df --output=fstype . .. ../ssh ../tmp /etc/hostname /tmp | grep tmpfs
			ls -A .; cat ../ssh/key ../tmp/key /etc/hostname; echo more >>/etc/hostname
			for f in ../info/new ../info/cluster.json; do echo more 2>/dev/null >>$f && echo it writes in $f; done; test ! -s /tmp/key`)
		spec.WorkDir = runDir + "/work"
		spec.Files = []container.File{
			{Path: runDir + "/ssh/key", Content: []byte("key\n"), Mode: 0o600},
			{Path: runDir + "/tmp/key", Content: []byte("key\n"), Mode: 0o600},
			{Path: "/etc/hostname", Content: []byte("host\n"), Mode: 0o600},
			{Path: infoDir + "/cluster.json", Mode: 0o600},
		}
		if said, code := outcome(t, r, spec); code != 0 || said != "key\nkey\nhost\n" {
			t.Errorf("%s: got code %d and %q", kind, code, said)
		}
		spec.ID, spec.WorkDir, spec.Command = spec.ID+"-elsewhere", "/determined-test-work/ssh", []string{"ls", "-A"}
		if said, code := outcome(t, r, spec); code != 0 || said != "" {
			t.Errorf("%s: got code %d and %q in a new work directory", kind, code, said)
		}
	}
}

// Sources lie below a link: what covers where it leads would cover them.
func TestAPlaceOverMemoryHidesNoFilesOfTheTask(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	spec := script("over", "cat /run/determined/info/cluster.json; pwd")
	spec.WorkDir = filepath.Dir(r.opts.Memory)
	spec.Files = []container.File{{Path: infoDir + "/cluster.json", Content: []byte("of this task\n"), Mode: 0o600}}
	if said, code := outcome(t, r, spec); code != 0 || said != "of this task\n"+spec.WorkDir+"\n" {
		t.Errorf("got code %d and %q", code, said)
	}
	spec = script("all", "cat /run/determined/info/cluster.json; touch /run/determined/here && ls")
	spec.WorkDir, spec.Files = "/run", []container.File{{Path: infoDir + "/cluster.json", Content: []byte("of this task\n"), Mode: 0o600}}
	if said, code := outcome(t, r, spec); code != 0 || said != "of this task\ndetermined\n" {
		t.Errorf("got code %d and %q", code, said)
	}
}

// The user of a task that is not isolated reaches what is on disk in its place alone.
func TestFilesOnDiskAreTheirUsers(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can switch users")
	}
	for p := r.opts.Dir; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o711); err != nil { //nolint:gosec // as a data_dir that users pass
			t.Fatal(err)
		}
	}
	spec := script("linked", `touch /run/determined/new here && cd "$HOME" && touch there && stat -c %u . && pwd`)
	spec.User = &container.User{UID: 4321, GID: 4321}
	if said, code := outcome(t, r, spec); code != 0 || said != "4321\n/run/determined\n" {
		t.Errorf("got code %d and %q", code, said)
	}
	if _, lent := r.containerDir("linked").lentFiles(); lent {
		t.Error("its files are lent, and the test shows nothing")
	}
}

// What cannot be removed is tried again, and keeps no agent from its start.
func TestWhatCannotBeRemovedIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if _, code := outcome(t, r, script("stays", "echo x >file")); code != 0 {
		t.Fatalf("got code %d", code)
	}
	at, _ := r.containerDir("stays").diskFiles()
	const immutable = 0x10
	setFlags := func(flags int) {
		f, err := os.Open(at + "/workdir/file")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			t.Skip("files of this file system or user cannot be kept: ", err)
		}
	}
	setFlags(immutable)
	defer func() {
		if _, err := os.Stat(at); err == nil {
			setFlags(0)
		}
	}()
	if err := r.Remove(t.Context(), "stays"); err == nil {
		t.Error("it says that all is removed")
	}
	if _, again := r.containerDir("stays").diskFiles(); !again {
		t.Error("nothing says what is left")
	}
	if err := os.RemoveAll(string(r.containerDir("stays"))); err != nil {
		t.Fatal(err)
	}
	if next := withOptions(t, r.opts); next.Left() == nil {
		t.Error("the next agent does not say what it leaves")
	}
	setFlags(0)
	if next := withOptions(t, r.opts); next.Left() != nil {
		t.Error(next.Left())
	}
	if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want it removed", err)
	}
}
