package spec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheHookOfATaskRunsBeforeItsProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook string
		argv []string
		want string
		code int
	}{
		"exported variables apply": {"echo before; export A='x  y'", []string{"/bin/sh", "-c", `echo "$A" "$0" "$1"`, "p", "a  b"}, "before\nx  y p a  b\n", 0},
		"the program's code":       {"true", []string{"/bin/sh", "-c", "exit 7"}, "", 7},
		"a failure ends the task":  {"echo before; sh -c 'exit 3'; echo after", []string{"echo", "program"}, "before\n", 3},
		"an exit ends the task":    {"exit 0", []string{"echo", "program"}, "", 0},
		"nothing but the hook":     {"echo before", nil, "before\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, argv := t.TempDir(), afterHook(c.argv)
			if err := os.WriteFile(filepath.Join(dir, HookFile), []byte(c.hook+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir = dir
			out, err := cmd.Output()
			code := 0
			if e, is := errors.AsType[*exec.ExitError](err); is {
				code = e.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if string(out) != c.want || code != c.code {
				t.Errorf("got %q and code %d, want %q and %d", out, code, c.want, c.code)
			}
		})
	}
}

func TestOnlyAHookNeedsAShell(t *testing.T) {
	t.Parallel()
	r := Run{Program: Program{Config: Config{Entrypoint: Entrypoint{"/program", "-x"}}, HasContext: true}}
	if got := argv(r); len(got) != 2 || got[0] != "/program" {
		t.Errorf("without a hook: got %q, want the program alone", got)
	}
	r.HasHook = true
	if got := argv(r); len(got) != 6 || got[0] != "/bin/sh" || got[4] != "/program" {
		t.Errorf("with a hook: got %q, want it behind the hook", got)
	}
}
