package postgrestest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestDisksOfKilledTestsGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	made := func(pid int) string {
		dir := filepath.Join(os.TempDir(), diskPrefix+strconv.Itoa(pid)+"-1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, own := made(ended.Process.Pid), made(os.Getpid())
	removeOldDisks()
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the disk of a process that ended: got %v, want that it is gone", err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("the disk of this process: %v", err)
	}
}
