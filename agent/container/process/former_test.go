package process

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// startFormer starts a task as an earlier version did.
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
	cmd.Env = append(inheritedEnviron(), string(bytes.TrimSuffix(d.markVariable(), []byte{0})))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f.stdout, f.stderr, []*os.File{f.status}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credentialOf(spec.User)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
}

func TestTasksOfAFormerVersionGoOn(t *testing.T) {
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
