package unit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
)

func machine(t *testing.T, calls *[]string) unit.Unit {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "/run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	return unit.Unit{
		Name: "x.service", Text: []byte("[Unit]\n"), Root: root,
		Systemctl: func(_ context.Context, args ...string) error {
			*calls = append(*calls, strings.Join(args, " "))
			return nil
		},
	}
}

func TestInstallIsIdempotent(t *testing.T) {
	t.Parallel()
	var calls []string
	u := machine(t, &calls)
	s, out, _ := term.Test("", false)
	o := unit.Options{Yes: true}
	if err := o.Install(t.Context(), s, "master", u); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(calls, []string{"daemon-reload", "enable x.service", "restart x.service"}); d != "" {
		t.Errorf("the first time: got -, want +:\n%s", d)
	}
	info, err := os.Stat(filepath.Join(u.Root, unit.Binary))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: got %v, %v; want mode 755", info, err)
	}
	calls = nil
	out.Reset()
	if err := o.Install(t.Context(), s, "master", u); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(calls, []string{"enable --now x.service"}); d != "" {
		t.Errorf("the second time: got -, want +:\n%s", d)
	}
	if got, want := out.String(), "  + enable and start x.service\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	var calls []string
	u := machine(t, &calls)
	s, out, _ := term.Test("", false)
	if err := (unit.Options{DryRun: true}).Install(t.Context(), s, "master", u); err != nil {
		t.Fatal(err)
	}
	if len(calls) > 0 || !strings.Contains(out.String(), "write /etc/systemd/system/x.service") {
		t.Errorf("got calls %v, output %q; want the plan only", calls, out)
	}
	if _, err := os.Stat(filepath.Join(u.Root, "/etc")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that nothing was written", err)
	}
}

func TestCheckRequiresSystemd(t *testing.T) {
	t.Parallel()
	u := unit.Unit{Name: "x.service", Root: t.TempDir()}
	s, _, _ := term.Test("", false)
	err := (unit.Options{Yes: true}).Install(t.Context(), s, "agent", u)
	if e, ok := errors.AsType[*unit.NoSystemdError](err); !ok || !strings.Contains(e.Hint(), "det-deploy agent run") {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

func TestInstallWithoutTerminalRequiresYes(t *testing.T) {
	t.Parallel()
	var calls []string
	s, _, _ := term.Test("", false)
	err := (unit.Options{}).Install(t.Context(), s, "agent", machine(t, &calls))
	if err == nil || !strings.Contains(err.Error(), "use --yes") || len(calls) > 0 {
		t.Errorf("got %v, calls %v; want the flag named and nothing done", err, calls)
	}
}

func TestInstallWritesFilesAndLinks(t *testing.T) {
	t.Parallel()
	var calls []string
	u := machine(t, &calls)
	u.Files = map[string][]byte{"/usr/local/x/Makefile": []byte("all:\n")}
	u.Links = map[string]string{"/usr/local/x/etc/x.yaml": "/etc/x.yaml"}
	s, out, _ := term.Test("", false)
	for range 2 {
		if err := (unit.Options{Yes: true}).Install(t.Context(), s, "master", u); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(u.Root, "/usr/local/x/Makefile"))
	if err != nil || string(data) != "all:\n" {
		t.Errorf("got the file %q and %v", data, err)
	}
	if to, err := os.Readlink(filepath.Join(u.Root, "/usr/local/x/etc/x.yaml")); err != nil || to != "/etc/x.yaml" {
		t.Errorf("got the link %q and %v", to, err)
	}
	if n := strings.Count(out.String(), "link /usr/local/x/etc/x.yaml to /etc/x.yaml"); n != 1 {
		t.Errorf("got the link %d times in %q, want it made once", n, out)
	}
}

func TestUninstallUndoesInstall(t *testing.T) {
	t.Parallel()
	var calls []string
	u := machine(t, &calls)
	u.DataDir = "/var/lib/x"
	u.Files = map[string][]byte{"/usr/local/x/Makefile": []byte("all:\n")}
	u.Links = map[string]string{"/usr/local/x/etc/x.yaml": "/etc/x.yaml"}
	s, out, said := term.Test("", false)
	o := unit.Options{Yes: true}
	if err := o.Install(t.Context(), s, "master", u); err != nil {
		t.Fatal(err)
	}
	calls = nil
	out.Reset()
	if err := (unit.Options{DryRun: true}).Uninstall(t.Context(), s, "master", u, true); err != nil || len(calls) > 0 {
		t.Fatalf("a dry run: got %v and calls %q", err, calls)
	}
	if err := o.Uninstall(t.Context(), s, "master", u, false); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(calls, []string{"disable --now x.service", "daemon-reload"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	for path, want := range map[string]bool{
		"/etc/systemd/system/x.service": false, "/usr/local/x/Makefile": false, "/usr/local/x/etc/x.yaml": false,
		"/var/lib/x": true, unit.Binary: true,
	} {
		if _, err := os.Lstat(filepath.Join(u.Root, path)); (err == nil) != want {
			t.Errorf("%s: got %v, want that it is there: %t", path, err, want)
		}
	}
	if !strings.Contains(said.String(), "Its data is kept in /var/lib/x.") {
		t.Errorf("got %q, want the place of the data", said)
	}
	for range 2 {
		if err := o.Uninstall(t.Context(), s, "master", u, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(u.Root, "/var/lib/x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want the data deleted", err)
	}
	if !strings.HasSuffix(said.String(), "The master is not installed as a service.\n") {
		t.Errorf("got %q, want that nothing is installed", said)
	}
}

func TestUninstallKeepsChangedFiles(t *testing.T) {
	t.Parallel()
	var calls []string
	u := machine(t, &calls)
	u.Files = map[string][]byte{"/usr/local/x/Makefile": []byte("all:\n")}
	s, _, _ := term.Test("", false)
	o := unit.Options{Yes: true}
	if err := o.Install(t.Context(), s, "master", u); err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(u.Root, "/usr/local/x/Makefile")
	if err := os.WriteFile(changed, []byte("mine:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Uninstall(t.Context(), s, "master", u, false); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(changed); err != nil || string(data) != "mine:\n" {
		t.Errorf("got %q and %v, want the user's file", data, err)
	}
}
