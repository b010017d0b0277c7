package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// startFormer starts a task like an earlier version.
func startFormer(t *testing.T, r *Runtime, spec container.Spec) {
	t.Helper()
	d := r.containerDir(spec.ID)
	if err := r.makeAnew(t.Context(), d, spec); err != nil {
		t.Fatal(err)
	}
	f, err := d.openFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", wrapped(spec.Command)[1:]...)
	cmd.Cancel = func() error { return nil }
	cmd.Env = append(inheritedEnviron(), string(bytes.TrimSuffix(markVariable(d), []byte{0})))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f.stdout, f.stderr, []*os.File{f.status}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credentialOf(spec.User)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
}

func TestTasksOfFormerVersionContinue(t *testing.T) {
	t.Parallel()
	r := newPlain(t)
	for _, c := range []struct {
		name, script string
		signal       container.Signal
		code         int
	}{
		{"ends", "exit 3", "", 3},
		{"is killed", "sleep 600; exit 1", container.Kill, 137},
		{"is asked to end", "exec sleep 600", container.Terminate, 143},
	} {
		startFormer(t, r, script(c.name, c.script))
		if c.signal != "" {
			if err := r.Signal(t.Context(), c.name, c.signal); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if code, err := r.Wait(t.Context(), c.name); err != nil || code != c.code {
			t.Errorf("%s: got code %d and %v, want %d", c.name, code, err, c.code)
		}
		if err := r.Remove(t.Context(), c.name); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The files of an exited task of the previous release are read and removed, and then its
// directories.
func TestTasksOfAFormerVersionAreReadAndRemoved(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	inMemory, files := filepath.Join(t.TempDir(), "XYZ"), filepath.Join(data, "processes-files")
	d := dir(filepath.Join(inMemory, "old"))
	for _, err := range []error{
		os.MkdirAll(string(d), 0o711), os.MkdirAll(filepath.Join(files, "files-1-1", "workdir"), 0o755),
		os.WriteFile(inMemory+".owner", nil, 0o600), os.Symlink(inMemory, filepath.Join(data, "processes")),
		os.WriteFile(d.filePath("status"), []byte("4711\n7\n"), 0o600), os.WriteFile(d.filePath("user"), []byte("70001\n"), 0o600),
		os.Symlink(filepath.Join(files, "files-1-1"), d.filePath("files")), os.Symlink(filepath.Join(files, "output-1-2"), d.filePath("output")),
		os.WriteFile(filepath.Join(files, "output-1-2.stdout"), []byte("out\n"), 0o600), os.WriteFile(filepath.Join(files, "output-1-2.stderr"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	former := filepath.Join(data, "processes")
	if err := SweepFormer(former, files); err != nil {
		t.Fatal(err)
	}
	r := withOptions(t, Options{Dir: filepath.Join(data, "tasks"), Former: former})
	if ids, err := r.List(t.Context(), ""); err != nil || !slices.Equal(ids, []string{"old"}) {
		t.Errorf("got %q, %v, want old", ids, err)
	}
	var said []string
	err := r.Logs(t.Context(), "old", container.Position{}, func(lines []container.Line) error {
		for _, l := range lines {
			said = append(said, string(l.Text))
		}
		return nil
	})
	if code, werr := r.Wait(t.Context(), "old"); err != nil || werr != nil || code != 7 || !slices.Equal(said, []string{"out"}) {
		t.Errorf("got %q, code %d, %v, %v, want its output and 7", said, code, err, werr)
	}
	if err := r.Remove(t.Context(), "old"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(files); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want nothing of it", left, err)
	}
	if err := SweepFormer(former, files); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{former, files, inMemory, inMemory + ".owner"} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is left", p)
		}
	}
}
