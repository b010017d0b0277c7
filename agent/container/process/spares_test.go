package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// placed is a runtime whose tasks leave their directories to the next.
func placed(t *testing.T) *Runtime {
	t.Helper()
	r := newPlain(t)
	if os.Geteuid() != 0 || r.notPlaced != nil {
		t.Skip("tasks have no mount namespaces whose numbers the agent knows")
	}
	return r
}

// inode is that of a task's status file.
func inode(t *testing.T, r *Runtime, id string) uint64 {
	t.Helper()
	return inodeOf(t, r.containerDir(id), "status")
}

const workdir = "root" + runDir + "/workdir"

func inodeOf(t *testing.T, d dir, name string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(d.filePath(name), &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestTasksUseTheDirectoriesOfOthersThatFindNothingInThem(t *testing.T) {
	t.Parallel()
	r := placed(t)
	const text = `ls -Am . .. ../info; stat -c %a . ../info; cat ../info/cluster.json
		echo left >here; echo left >../here; ln -s /etc ../link; mkdir -p a/b; echo secret >>../info/cluster.json; echo err >&2`
	inodes := map[uint64]int{}
	for i := range 40 {
		id := fmt.Sprint("task-", i)
		spec := script(id, text)
		spec.Files = []container.File{
			{Path: runDir + "/workdir", Dir: true, Mode: 0o700}, // as the master's orders have it
			{Path: runDir + "/info/cluster.json", Content: []byte(id + "\n"), Mode: 0o640},
		}
		said, code := outcome(t, r, spec)
		want := ".: ..: info, workdir ../info: cluster.json 700 755 " + id + " err"
		if got := strings.Join(strings.Fields(said), " "); code != 0 || got != want {
			t.Fatalf("task %d: got code %d and %q, want %q: what it was given, and its own output", i, code, got, want)
		}
		inodes[inode(t, r, id)]++
		if err := r.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(string(r.containerDir(id))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("task %d: got %v, want its directory gone", i, err)
		}
	}
	if len(inodes) == 40 {
		t.Error("got a new directory for each task, want those of the ones before")
	}
	for range 2 {
		left, err := filepath.Glob(filepath.Join(r.spares.dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, spare := range left {
			data, err := os.ReadFile(filepath.Join(spare, "root", runDir, "info", "cluster.json"))
			if err != nil || len(data) > 0 {
				t.Errorf("%s: got %q, %v, want no content on disk", spare, data, err)
			}
		}
		r = withOptions(t, r.opts)
	}
	if left, _ := filepath.Glob(filepath.Join(r.spares.dir, "*")); len(left) > 0 {
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
	r := placed(t)
	stop := filepath.Join(t.TempDir(), "stop")
	stays := leave + ` sh -c 'until [ -e ` + stop + ` ]; do echo mine >mine; sleep 0.01; done' >/dev/null 2>&1 & until [ -s mine ]; do sleep 0.01; done`
	if _, code := outcome(t, r, script("stays", stays)); code != 0 {
		t.Fatalf("got code %d", code)
	}
	// Its work directory, whose number is no other's while the process is in it.
	kept := inodeOf(t, r.containerDir("stays"), workdir)
	if err := r.Remove(t.Context(), "stays"); err != nil {
		t.Fatal(err)
	}
	inodes := map[uint64]bool{}
	for i := range 20 {
		id := fmt.Sprint("task-", i)
		if said, _ := outcome(t, r, script(id, "ls -A")); said != "" {
			t.Errorf("task %d: finds %q of another", i, said)
		}
		at := inodeOf(t, r.containerDir(id), workdir)
		inodes[at] = true
		if at == kept {
			t.Errorf("task %d: got the directory of one that still has a process", i)
		}
		if err := r.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(inodes) == 20 {
		t.Error("got a new directory for each task, want those of the others before")
	}
}

// spare is a directory that is free for the next task.
func spare(t *testing.T, r *Runtime) dir {
	t.Helper()
	spec := container.Spec{Files: []container.File{
		{Path: runDir + "/info/cluster.json", Content: []byte("mine"), Mode: 0o600},
		{Path: runDir + "/info/rendezvous.json", Content: []byte("mine"), Mode: 0o600},
		{Path: runDir + "/pythonuserbase", Dir: true, Mode: 0o700},
	}}
	for i := range 100 {
		spec.ID, spec.Command = fmt.Sprint("before-", i), []string{"true"}
		if said, code := outcome(t, r, spec); code != 0 {
			t.Fatalf("got code %d and %q", code, said)
		}
		if err := r.Remove(t.Context(), spec.ID); err != nil {
			t.Fatal(err)
		}
		r.spares.look()
		if len(r.spares.free) > 0 {
			return r.spares.free[len(r.spares.free)-1]
		}
	}
	t.Fatal("no directory became free")
	return ""
}

// A program takes an empty file for damage, where it can do without one.
func TestATaskFindsNoFilesThatItsOrderDoesNotHave(t *testing.T) {
	t.Parallel()
	r := placed(t)
	spec := script("", "ls -Am .. ../info")
	spec.Files = []container.File{{Path: runDir + "/info/cluster.json", Content: []byte("mine"), Mode: 0o600}}
	for i, again := 0, false; !again; i++ {
		if i == 20 {
			t.Fatal("no task got the directory of another")
		}
		spare(t, r)
		free := map[uint64]bool{} // which of them is taken depends on what other processes have open
		for _, d := range r.spares.free {
			free[inodeOf(t, d, "status")] = true
		}
		spec.ID = fmt.Sprint("after-", i)
		said, _ := outcome(t, r, spec)
		if got := strings.Join(strings.Fields(said), " "); got != "..: info, workdir ../info: cluster.json" {
			t.Errorf("got %q, want what was ordered alone", got)
		}
		again = free[inode(t, r, spec.ID)]
	}
}

// A program outside of the task may have got its output, and may write to it later.
func TestADirectoryWithAnOpenFileIsNotTaken(t *testing.T) {
	t.Parallel()
	r := placed(t)
	at := spare(t, r)
	f, err := os.OpenFile(at.filePath("stdout"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := at.checkUnused(); err == nil {
		t.Error("a directory of which a file is open passes")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := at.checkUnused(); err != nil {
		t.Error(err)
	}
}

// The keeper ends tasks beside an agent that runs.
func TestARuntimeThatKeepsNoDirectoriesLeavesThoseOfAnother(t *testing.T) {
	t.Parallel()
	r := placed(t)
	at := spare(t, r)
	withOptions(t, Options{Dir: r.opts.Dir})
	if _, err := os.Stat(at.filePath("status")); err != nil {
		t.Error(err)
	}
}

// What a task has changed about its directories is not the next one's affair.
func TestADirectoryThatWasChangedIsNotKept(t *testing.T) {
	t.Parallel()
	r := placed(t)
	for name, text := range map[string]string{
		"owner": "chown 1234 .", "link": "cd ..; rmdir workdir; ln -s /tmp workdir",
		"no file":   "rm ../info/cluster.json; mkdir ../info/cluster.json",
		"attribute": `python3 -c "import os; os.setxattr('.', 'user.mine', b'1')"`,
	} {
		spec := script(name, text)
		spec.Files = []container.File{{Path: runDir + "/info/cluster.json", Mode: 0o600}}
		if said, code := outcome(t, r, spec); code != 0 {
			t.Fatalf("%s: got code %d and %q", name, code, said)
		}
		d := r.containerDir(name)
		if r.spares.put(d) {
			t.Errorf("%s: the directory is kept", name)
		}
		if err := r.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}
