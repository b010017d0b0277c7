package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
)

// An agent that was killed leaves programs in its tasks, whose streams nobody holds.
func TestTheNextAgentEndsWhatEnteredItsTasks(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Runtime{"as well as can be": newRuntime(t), "plain": newPlain(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := start(t, r, script("entered", "sleep 600")); err != nil {
				t.Fatal(err)
			}
			d := r.containerDir("entered")
			p, err := r.Exec(t.Context(), "entered", stream.Program{Argv: []string{"sh", "-c", "echo ready; sleep 600; true"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p.Stdout(), make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			first, err := d.awaitPID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The ID of a program that ended before was reused.
			if err := os.WriteFile(d.filePath("entered-before"), fmt.Appendf(nil, "%d 1\n", first), 0o600); err != nil {
				t.Fatal(err)
			}
			next := withOptions(t, r.opts)
			if code, err := p.Wait(); err != nil || code != 137 {
				t.Errorf("got code %d, %v, want it killed", code, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(d.filePath(visitPattern)); err != nil || len(left) != 0 {
				t.Errorf("got %v, %v left", left, err)
			}
			if s, err := next.Inspect(t.Context(), "entered"); err != nil || s.Phase != container.Running {
				t.Errorf("got %v, %v, want the task running", s.Phase, err)
			}
		})
	}
}

// Somebody enters a task to clean up.
func TestTasksOnAFullDiskAreEntered(t *testing.T) {
	t.Parallel()
	o := isolating(t).opts
	o.Dir = filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(o.Dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", o.Dir, "tmpfs", 0, "size=4m,mode=0711"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(o.Dir, unix.MNT_DETACH) }) // of the test alone
	r := withOptions(t, o)
	fill := "until [ -e /dev/shm/started ]; do sleep 0.05; done; cat /dev/zero >$HOME/big; touch /dev/shm/full; sleep 600"
	if err := start(t, r, script("full", fill)); err != nil {
		t.Fatal(err)
	}
	// The start itself needs room on the disk.
	if said, code := entered(t, r, "full", "touch /dev/shm/started", nil); code != 0 {
		t.Fatalf("got code %d and %q", code, said)
	}
	eventually(t, "the disk is full", func() bool {
		_, code := entered(t, r, "full", "test -e /dev/shm/full", nil)
		return code == 0
	})
	if said, code := entered(t, r, "full", `rm $HOME/big && echo free >$HOME/small`, nil); code != 0 {
		t.Errorf("got code %d and %q, want it cleaned up", code, said)
	}
}
