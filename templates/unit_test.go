package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/templates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestUnitsRenderGolden(t *testing.T) {
	t.Parallel()
	tests := map[string]interface{ Render() ([]byte, error) }{
		"master.service": templates.MasterUnit{Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/master.yaml", DataDir: "/var/lib/determined"},
		"agent.service":  templates.AgentUnit{Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/agent.yaml"},
	}
	for name, unit := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unit.Render()
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name+".golden"), got)
		})
	}
}

func TestAPathThatSystemdWouldReadOtherwiseIsRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "relative", "/a b", "/a%n", "/a\nExecStart=/bin/x", "/a$HOME"} {
		if _, err := (templates.AgentUnit{Binary: p, ConfigFile: "/etc/x"}).Render(); err == nil || !strings.Contains(err.Error(), "must be absolute") {
			t.Errorf("%q: got %v, want a refusal", p, err)
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("%s: got -, want + (go test -update rewrites it):\n%s", path, d)
	}
}
