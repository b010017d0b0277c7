package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// newMemory is a directory for all agents, in memory that is not.
func newMemory(t *testing.T) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "memory")
	unlock, err := lockMemory(at)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	return at
}

// useMemoryIn is a directory of containers below a new data_dir.
func useMemoryIn(t *testing.T, memory string) Options {
	t.Helper()
	o := Options{Dir: filepath.Join(t.TempDir(), "data", "processes"), Memory: memory}
	if err := os.Mkdir(filepath.Dir(o.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	return o
}

func expectMemory(t *testing.T, o Options, wanted, want bool) {
	t.Helper()
	got, err := useMemory(o, wanted)
	if err != nil || got != want {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.Dir, "file")); err != nil {
		t.Fatal(err)
	}
}

func TestTheDirectoryOfContainersIsInMemory(t *testing.T) {
	t.Parallel()
	o := useMemoryIn(t, newMemory(t))
	expectMemory(t, o, true, true)
	at, err := os.Readlink(o.Dir)
	if err != nil || filepath.Dir(at) != o.Memory {
		t.Fatalf("got %q, %v, want a link below %s", at, err, o.Memory)
	}
	expectMemory(t, o, true, true) // the next agent
	if err := errors.Join(os.RemoveAll(o.Memory), os.Mkdir(o.Memory, 0o711)); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, true, true) // the machine was restarted
	if at := leadTo(t, o); !isNoted(at, o) {
		t.Errorf("nothing says whose %s is", at)
	}
	if err := os.Mkdir(filepath.Join(o.Dir, "task"), 0o700); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, false, true) // a task is there
	if err := os.Remove(filepath.Join(o.Dir, "task")); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, false, false)
	expectMemory(t, o, true, true)
}

func TestADirectoryWithTasksStaysOnDisk(t *testing.T) {
	t.Parallel()
	o := useMemoryIn(t, newMemory(t))
	task := filepath.Join(o.Dir, "task")
	if err := os.MkdirAll(task, 0o700); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, true, false)
	if err := os.Remove(task); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, true, true)
}

func TestWhatIsInMemoryOfAgentsThatAreGoneIsSwept(t *testing.T) {
	t.Parallel()
	memory := newMemory(t)
	here, gone, busy, elsewhere := useMemoryIn(t, memory), useMemoryIn(t, memory), useMemoryIn(t, memory), useMemoryIn(t, memory)
	at := map[string]string{}
	for _, o := range []Options{here, gone, busy, elsewhere} {
		expectMemory(t, o, true, true)
		at[o.Dir] = leadTo(t, o)
	}
	task := dir(filepath.Join(busy.Dir, "task"))
	if err := os.Mkdir(string(task), 0o700); err != nil {
		t.Fatal(err)
	}
	holdLock(t, task)
	mark := at[elsewhere.Dir] + ownerSuffix
	if err := errors.Join(os.Remove(mark), os.Symlink("mnt:[1]"+elsewhere.Dir, mark)); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{gone, busy, elsewhere} {
		if err := os.RemoveAll(filepath.Dir(o.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweepMemory(memory); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"here": here, "with a task": busy, "elsewhere": elsewhere} {
		if _, err := os.Stat(at[o.Dir]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(at[gone.Dir]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want what is gone removed", err)
	}
	if left, _ := filepath.Glob(filepath.Join(memory, "*")); len(left) != 6 {
		t.Errorf("got %q, want three directories and their marks", left)
	}
}

// holdLock is what the shell of a task does.
func holdLock(t *testing.T, d dir) {
	t.Helper()
	f, err := d.openFile("status", os.O_CREATE|os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := lockFile(f); err != nil {
		t.Fatal(err)
	}
}

func leadTo(t *testing.T, o Options) string {
	t.Helper()
	at, err := os.Readlink(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func isNoted(at string, o Options) bool {
	owner, err := ownerOf(o.Dir)
	noted, _ := os.Readlink(at + ownerSuffix)
	return err == nil && noted == owner
}

// All users may write in /dev/shm: one may have made the directory, to have the agent remove
// whatever a link in it leads to.
func TestMemoryInWhichOthersMayWriteIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(memory string) error{
		"all may write": func(p string) error { return os.Chmod(p, 0o777) }, //nolint:gosec // that is what is tried
		"a link":        func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/", p)) },
		"another's": func(p string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(p, 0o731) // whose it is cannot be changed
			}
			return os.Chown(p, 1234, 1234)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := plainOptions(t)
			o.Memory = newMemory(t)
			expectMemory(t, o, true, true)
			before := leadTo(t, o) // as before the machine was restarted
			if err := errors.Join(os.RemoveAll(before), os.RemoveAll(before+ownerSuffix), plant(o.Memory)); err != nil {
				t.Fatal(err)
			}
			r := withOptions(t, o)
			info, err := os.Lstat(o.Dir)
			if err != nil || !info.IsDir() || r.onDisk != nil {
				t.Errorf("got %v, %v, want a directory on disk", info, err)
			}
			if r.Left() == nil {
				t.Error("the agent cannot say why")
			}
			if _, code := outcome(t, r, script("task", "exit 3")); code != 3 {
				t.Errorf("got code %d of a task, want 3", code)
			}
		})
	}
}

// What is below a link may be planted, too, after the machine was restarted.
func TestADirectoryInMemoryOfAnotherUsersIsNotContinued(t *testing.T) {
	t.Parallel()
	o := useMemoryIn(t, newMemory(t))
	expectMemory(t, o, true, true)
	planted := leadTo(t, o)
	if err := os.Chmod(planted, 0o777); err != nil { //nolint:gosec // that is what is tried
		t.Fatal(err)
	}
	expectMemory(t, o, true, true)
	if at := leadTo(t, o); at == planted {
		t.Error("the directory of another user's is used")
	}
}

// A data_dir may be moved while its agent does not run.
func TestWhatIsInMemoryMovesWithItsAgent(t *testing.T) {
	t.Parallel()
	memory := newMemory(t)
	o := useMemoryIn(t, memory)
	expectMemory(t, o, true, true)
	moved := o
	moved.Dir = filepath.Join(t.TempDir(), "moved", "processes")
	if err := errors.Join(os.Mkdir(filepath.Join(o.Dir, "ended"), 0o700), os.Rename(filepath.Dir(o.Dir), filepath.Dir(moved.Dir))); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, moved, true, true)
	if err := sweepMemory(memory); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(moved.Dir, "ended")); err != nil {
		t.Errorf("%v: what ended and was not reported is lost", err)
	}
}

// Neither is one agent's what a copy of its data_dir leads to, nor follows the name from that of
// the data_dir, which agents in containers have in common.
func TestTwoAgentsHaveTwoDirectoriesInMemory(t *testing.T) {
	t.Parallel()
	o := useMemoryIn(t, newMemory(t))
	expectMemory(t, o, true, true)
	first := leadTo(t, o)
	copied := useMemoryIn(t, o.Memory)
	if err := os.Symlink(first, copied.Dir); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, copied, true, true)
	if at := leadTo(t, copied); at == first || !isNoted(first, o) || !isNoted(at, copied) {
		t.Errorf("both lead to %s", at)
	}
	if err := errors.Join(os.Remove(o.Dir), os.Mkdir(filepath.Join(first, "task"), 0o700)); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, true, true) // in another container, with a data_dir of the same name
	if at := leadTo(t, o); at == first {
		t.Error("the name is that of another agent's directory")
	}
}

// An agent may lose the right to make mount namespaces while tasks are there.
func TestTasksHaveAllInOneDirectoryWhereTheKernelRefusesNamespaces(t *testing.T) {
	t.Parallel()
	r := inMemory(t)
	if err := os.Mkdir(filepath.Join(r.opts.Dir, "ended"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.notPlaced, r.onDisk = errors.New("no namespaces here"), nil
	if err := r.openDirs(); err != nil {
		t.Fatal(err)
	}
	if said, code := outcome(t, r, script("task", "touch here; ls")); code != 0 || said != "here\n" {
		t.Errorf("got code %d and %q", code, said)
	}
}
