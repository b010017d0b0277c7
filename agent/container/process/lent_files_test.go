package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// The files of removed agents are swept when the next one starts. Those of another agent's task
// stay, also if its agent's directory is inaccessible, and so do directories without an owner link.
func TestLentFilesOfGoneAgentAreRemoved(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	closed, below := t.TempDir(), filepath.Join(t.TempDir(), "lent")
	for p := filepath.Dir(below); p != "/tmp" && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	lend := func(agent, id string) dir {
		t.Helper()
		d := dir(filepath.Join(closed, agent, "processes", id))
		if err := os.MkdirAll(string(d), 0o711); err != nil {
			t.Fatal(err)
		}
		if err := d.lendFiles(below, &container.User{UID: 4711, GID: 4711}); err != nil {
			t.Fatal(err)
		}
		if at, found := d.lentFiles(); !found || os.WriteFile(filepath.Join(at, "big"), make([]byte, 1<<10), 0o600) != nil {
			t.Fatalf("nothing was lent to %s", id)
		}
		return d
	}
	gone, busy := lend("gone", "a"), lend("gone", "b")
	lend("here", "c")
	done := lend("here", "d")
	lend("unseen", "e")
	lend("unseen", "f")
	work := exec.CommandContext(t.Context(), "sleep", "600")
	work.Env = []string{strings.TrimSuffix(string(markVariable(busy)), "\x00")}
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = work.Process.Kill(), work.Wait() })
	beforeBoot := []unix.Timespec{{Sec: 1}, {Sec: 1}}
	if err := errors.Join(
		os.Mkdir(filepath.Join(below, "unknown"), 0o700),
		os.RemoveAll(string(gone)), os.RemoveAll(string(busy)), os.RemoveAll(filepath.Join(closed, "unseen")),
		unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(below, "f.lender"), beforeBoot, unix.AT_SYMLINK_NOFOLLOW),
	); err != nil {
		t.Fatal(err)
	}
	if err := SweepLent(below); err != nil {
		t.Fatal(err)
	}
	if got := names(t, below); got != "b b.lender c c.lender d d.lender e e.lender unknown" {
		t.Errorf("after the sweep: got %s", got)
	}
	r, err := New(t.Context(), Options{Dir: filepath.Join(closed, "here", "processes"), Lent: below})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context(), filepath.Base(string(done))); err != nil {
		t.Fatal(err)
	}
	if got := names(t, below); got != "b b.lender c c.lender e e.lender unknown" {
		t.Errorf("after a task was removed: got %s", got)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestNoFilesAreLentBelowInaccessibleDirectories(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	d := dir(filepath.Join(closed, "processes", "a"))
	if err := os.MkdirAll(string(d), 0o711); err != nil {
		t.Fatal(err)
	}
	err := d.lendFiles(filepath.Join(closed, "lent"), &container.User{UID: 4711, GID: 4711})
	if err == nil || !strings.Contains(err.Error(), "no access to") {
		t.Errorf("got %v, want an error that the user has no access", err)
	}
}
