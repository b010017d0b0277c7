package master

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The commands with which images of older releases are operated work after an installation.
func TestInstalledMakefile(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string]string{
		"/etc/determined/master.yaml":           {"/usr/local/determined/etc/master.yaml": "/etc/determined/master.yaml"},
		"/usr/local/determined/etc/master.yaml": {"/etc/determined/master.yaml": "/usr/local/determined/etc/master.yaml"},
		"/srv/master.yaml":                      nil,
	} {
		u, err := masterUnit(file, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(u.Links, want); d != "" {
			t.Errorf("%s: links: got -, want +:\n%s", file, d)
		}
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"enable-master":  "systemctl enable det-deploy-master.service\nsystemctl restart det-deploy-master.service",
		"disable-master": "systemctl disable --now det-deploy-master.service",
	} {
		out, err := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "-C", dir, target).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: got %q and %v, want %q", target, got, err, want)
		}
	}
}
