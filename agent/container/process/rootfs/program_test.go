package rootfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// forks are the two ways to make a process.
func forks(t *testing.T) map[string]func(Program) (int, error) {
	t.Helper()
	out := map[string]func(Program) (int, error){"here": Program.Fork}
	if Check("/run/determined") == nil {
		stage := emptyDir(t, "stage")
		out["in a tree"] = func(p Program) (int, error) { return Tree{Stage: stage}.Fork(p) }
	}
	return out
}

// A program is found, and refused, as a shell does it.
func TestProgramsAreFoundAsAShellFindsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "later"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"script": "#!/bin/sh\nexit 7\n", "plain": "exit $1\n", "text": "no program", "later/text": "exit 9\n", "later/none": "#!/no/such\n",
	} {
		mode := os.FileMode(0o700)
		if name == "text" {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for how, fork := range forks(t) {
		for _, c := range []struct {
			argv, path, refused string
			code                int
		}{
			{"./script", "", "", 7},
			{dir + "/script", "", "", 7},
			{"script", dir, "", 7},
			{"script", "/no/such:" + dir, "", 7},
			{"script", ":/bin", "", 7}, // an empty element is where it runs
			{"plain 8", dir, "", 8},    // a shell's, without a first line that says so
			{"text", dir + ":later", "", 9},
			{"./text", "", "exec: ./text: permission denied", 126},
			{"text", dir, "exec: text: permission denied", 126},
			{"./later", "", "exec: ./later: permission denied", 126},
			{"none", "later", "exec: none: no such file or directory", 127},
			{"no-such-program", "/usr/bin:/bin", "exec: no-such-program: no such file or directory", 127},
			{"./script/x", "", "exec: ./script/x: no such file or directory", 127},
			{"", "", "exec: : no such file or directory", 127},
		} {
			p := Program{Argv: strings.Split(c.argv, " "), Dir: dir, Env: []string{"PATH=" + c.path}, Files: []int{0, 1, 2}}
			code, err := await(fork(p))
			got := ""
			if _, is := errors.AsType[*RefusedError](err); is {
				got = err.Error()
			} else if err != nil {
				t.Errorf("%s: %+v: %v", how, c, err)
			}
			if code != c.code || strings.ReplaceAll(got, "not a directory", "no such file or directory") != c.refused {
				t.Errorf("%s: %+v: got code %d and %q", how, c, code, got)
			}
		}
	}
}

// Many at once, so that a child that wrote on its parent's stack would show.
func TestAProcessNotesItsIDBeforeItsProgramRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for how, fork := range forks(t) {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := range 25 {
					name := filepath.Join(dir, fmt.Sprint(strings.ReplaceAll(how, " ", "-"), worker, "-", i))
					if err := noteAndCompare(name, fork); err != nil {
						t.Errorf("%s: %v", how, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

func noteAndCompare(name string, fork func(Program) (int, error)) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	limit := &unix.Rlimit{Cur: 77, Max: 77}
	p := Program{
		Argv: []string{"/bin/sh", "-c", `read -r pid <"$1" && [ "$pid" = $$ ] && [ "$(ulimit -n)" = 77 ] && [ "$A" = b ] && [ ! -e /proc/self/fd/` + fmt.Sprint(f.Fd()) + ` ]`, "sh", name},
		Env:  []string{"A=b", "PATH=/usr/bin:/bin"}, Files: []int{0, 1, 2}, Status: int(f.Fd()), OpenFiles: limit,
	}
	pid, err := fork(p)
	if code, err := await(pid, err); err != nil || code != 0 {
		return fmt.Errorf("got code %d and %w", code, err)
	}
	if said, err := os.ReadFile(name); err != nil || string(said) != fmt.Sprintln(pid) {
		return fmt.Errorf("got %q and %w, want %d", said, err, pid)
	}
	return nil
}

func TestWhatFailsBeforeTheProgramIsSaid(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	for how, fork := range forks(t) {
		for want, p := range map[string]Program{
			"enter /no/such: no such file": {Dir: "/no/such"},
			"note the process: no space":   {Status: int(full.Fd())},
			"open descriptor 0: bad file":  {Files: []int{1 << 20}},
		} {
			p.Argv = []string{"true"}
			_, err := await(fork(p))
			if _, is := errors.AsType[*RefusedError](err); err == nil || is || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", how, err, want)
			}
		}
	}
}
