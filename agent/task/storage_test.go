package task

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// storageOf returns the spec of a trial that stores checkpoints in its own directory and starts
// from another trial's checkpoint.
func storageOf(dir string) *agentv1.Spec {
	own, other := filepath.Join(dir, "in", "own"), filepath.Join(dir, "other")
	return &agentv1.Spec{Mounts: []*agentv1.Mount{
		{HostPath: "/data", ContainerPath: "/determined_shared_fs/data"},
		{HostPath: own, ContainerPath: "/determined_shared_fs/in/own", Storage: dir},
		{HostPath: filepath.Join(other, "u"), ContainerPath: "/determined_shared_fs/in/own/u", Storage: other, ReadOnly: true},
	}}
}

func newStorage(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "other", "u"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheDirectoryOfCheckpointsIsMadeLikeTheStorage(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o700, 0o755, 0o777 | os.ModeSticky} {
		dir := newStorage(t, mode)
		s := storageOf(dir)
		want := os.Getuid()
		if want == 0 {
			want = 4242
			s.User = &agentv1.User{Uid: 4242, Gid: 4243}
		}
		for range 2 { // as each run of the trial does
			if err := makeStorage(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, made := range []string{"in", "in/own", "in/own/u"} {
			info, err := os.Stat(filepath.Join(dir, made))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != os.ModeDir|mode.Perm() {
				t.Errorf("%v, %s: got %v, want the same permissions, and every task may delete", mode, made, info.Mode())
			}
			if got, _ := info.Sys().(*syscall.Stat_t); made != "in" && int(got.Uid) != want {
				t.Errorf("%s belongs to %d, want the task's user %d", made, got.Uid, want)
			}
		}
	}
}

func TestCheckpointDirectoryIsNotRedirected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"the machine lacks the storage":       {os.RemoveAll, "the directory must exist on this machine"},
		"a link in place of its directory":    {func(dir string) error { return os.Symlink("other", filepath.Join(dir, "in")) }, "not a directory"},
		"a link in place of the checkpoint":   {func(dir string) error { return putInPlace(dir, "../../other") }, "not a directory"},
		"a file in place of the checkpoint":   {func(dir string) error { return putInPlace(dir, "") }, "not a directory"},
		"the checkpoint to start from is not": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "other", "u")) }, "the files to read are not on this machine"},
	} {
		dir := newStorage(t, 0o700)
		if err := tc.change(dir); err != nil {
			t.Fatal(err)
		}
		err := makeStorage(storageOf(dir))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "other", "own")); err == nil {
			t.Errorf("%s: a directory was made behind it", name)
		}
	}
}

// putInPlace creates a link or a file at the mount point of the checkpoint.
func putInPlace(dir, to string) error {
	at := filepath.Join(dir, "in", "own")
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	if to == "" {
		return os.WriteFile(filepath.Join(at, "u"), nil, 0o600)
	}
	return os.Symlink(to, filepath.Join(at, "u"))
}
