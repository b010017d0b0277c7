package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// useMemoryIn is a directory of containers below a new data_dir, in memory that is not.
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
	o := useMemoryIn(t, t.TempDir())
	expectMemory(t, o, true, true)
	at, err := os.Readlink(o.Dir)
	if err != nil || filepath.Dir(at) != o.Memory {
		t.Fatalf("got %q, %v, want a link below %s", at, err, o.Memory)
	}
	expectMemory(t, o, true, true) // the next agent
	if err := os.RemoveAll(o.Memory); err != nil {
		t.Fatal(err)
	}
	expectMemory(t, o, true, true) // the machine was restarted
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
	o := useMemoryIn(t, t.TempDir())
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
	memory := t.TempDir()
	here, gone, busy, elsewhere := useMemoryIn(t, memory), useMemoryIn(t, memory), useMemoryIn(t, memory), useMemoryIn(t, memory)
	at := map[string]string{}
	for _, o := range []Options{here, gone, busy, elsewhere} {
		expectMemory(t, o, true, true)
		to, err := os.Readlink(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		at[o.Dir] = to
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
