package program

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/test/dettest"
)

// runPrelude runs a container's command with dir in place of /run/determined, and with python3 from
// home or from the machine.
func runPrelude(t *testing.T, dir, python string, args ...string) (string, error) {
	t.Helper()
	return runPreludeWith(t, dir, []string{"DET_PYTHON_EXECUTABLE=" + python}, args...)
}

func runPreludeWith(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	for _, d := range []string{"workdir", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"resources.json", "rendezvous.json"} {
		if err := os.WriteFile(filepath.Join(dir, "info", name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := Library(complete(t, minimal, container.Default(), inBucket()), container.Default(), args...).Argv
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "run=/run/determined\n", "run="+dir+"\n")
	}
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Dir = filepath.Join(dir, "workdir")
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYTHONUSERBASE=" + dir + "/base"}, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestAContainerWithTheLibraryRunsTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "workdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"startup-hook.sh": "export FROM_HOOK=yes\n", "model.py": "x = 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, "workdir", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := `import os, model; open(os.readlink("` + dir + `/train/logs/stdout.log"), "w").write("through the link\n"); print(os.environ["FROM_HOOK"], model.x)`
	out, err := runPrelude(t, dir, filepath.Join(dettest.Home(t), "bin", "python3"), "-c", program)
	if err != nil || !strings.Contains(out, "yes 1") || !strings.Contains(out, "through the link") {
		t.Errorf("got %v and %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "train", "model", "model.py")); err != nil {
		t.Errorf("the second copy of the files: %v", err)
	}
}

func TestMissingLibraryError(t *testing.T) {
	t.Parallel()
	bare := filepath.Join(t.TempDir(), "python3")
	// An interpreter that sees only its standard library.
	script := "#!/bin/sh\nexec python3 -I -S \"$@\"\n"
	if err := os.WriteFile(bare, []byte(script), 0o755); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	for python, words := range map[string][]string{
		bare:              {"determined==0.38.1", "task_container_defaults.harness_wheel"},
		"/no/such/python": {"/no/such/python", "DET_PYTHON_EXECUTABLE"},
	} {
		out, err := runPrelude(t, t.TempDir(), python, "-c", "print('ran')")
		if err == nil || strings.Contains(out, "ran\n") {
			t.Errorf("%s: got %v and %s", python, err, out)
		}
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%s: got %s, want %q in it", python, out, w)
			}
		}
	}
}

func TestFailedStartupHookEndsTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "workdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "workdir", "startup-hook.sh"), []byte("(exit 7)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runPrelude(t, dir, filepath.Join(dettest.Home(t), "bin", "python3"), "-c", "print('ran')")
	exit, found := errors.AsType[*exec.ExitError](err)
	if !found || exit.ExitCode() != 7 || strings.Contains(out, "ran") {
		t.Errorf("got %v and %s, want code 7", err, out)
	}
}

func TestFilesAreCopiedWithoutHook(t *testing.T) {
	t.Parallel()
	python := filepath.Join(dettest.Home(t), "bin", "python3")
	for name, files := range map[string][]string{"none": nil, "one": {"model.py"}, "hidden alone": {".detignore"}} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "workdir"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, "workdir", f), []byte("x = 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := runPrelude(t, dir, python, "-c", "import sys; print('ran', sys.argv[1:])", "an argument"); err != nil || !strings.Contains(out, "ran ['an argument']") {
			t.Errorf("%s: got %v and %s", name, err, out)
		}
		copied, err := os.ReadDir(filepath.Join(dir, "train", "model"))
		if err != nil || len(copied) != len(files) || len(files) > 0 && copied[0].Name() != files[0] {
			t.Errorf("%s: got the copies %v, %v", name, copied, err)
		}
	}
}
