package templates_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/templates"
	"github.com/det-deploy/det-deploy/test/golden"
)

func TestUnitsRenderGolden(t *testing.T) {
	t.Parallel()
	tests := map[string]interface{ Render() ([]byte, error) }{
		"master.service": templates.MasterUnit{Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/master.yaml", DataDir: "/var/lib/determined"},
		"master-host.service": templates.MasterUnit{
			Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/master.yaml", DataDir: "/var/lib/determined",
			Needs: "det-deploy-data.service", Environment: "/var/lib/det-deploy/master.env", Proxy: "/etc/determined/proxy.env",
		},
		"host.service":      templates.HostUnit{Binary: "/usr/local/bin/det-deploy", Args: []string{"--role", "master", "--cluster-id", "lab"}, Proxy: "/etc/determined/proxy.env"},
		"docker-proxy.conf": templates.DockerProxy{File: "/etc/determined/proxy.env"},
		"data.service":      templates.DataUnit{Binary: "/usr/local/bin/det-deploy", Args: []string{"--volume", "vol-0123456789abcdef0", "--at", "/var/lib/determined"}},
		"agent-drain.service": templates.AgentUnit{
			Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/agent.yaml", DrainDir: "/var/lib/determined-agent", Proxy: "/etc/determined/proxy.env",
		},
		"agent.service": templates.AgentUnit{Binary: "/usr/local/bin/det-deploy", ConfigFile: "/etc/determined/agent.yaml"},
	}
	for name, unit := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unit.Render()
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", name+".golden"), string(got))
		})
	}
}

func TestInvalidUnitPathFails(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "relative", "/a b", "/a%n", "/a\nExecStart=/bin/x", "/a$HOME"} {
		if _, err := (templates.AgentUnit{Binary: p, ConfigFile: "/etc/x"}).Render(); err == nil || !strings.Contains(err.Error(), "must be absolute") {
			t.Errorf("%q: got %v, want an error", p, err)
		}
	}
}

func TestInvalidUnitArgumentFails(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"a b", "$HOME", "100%", "a;b", `"`} {
		if _, err := (templates.HostUnit{Binary: "/x", Args: []string{a}}).Render(); err == nil || !strings.Contains(err.Error(), "must be without spaces") {
			t.Errorf("%q: got %v, want an error", a, err)
		}
	}
}

// systemd-analyze verify reports errors and unknown settings in each unit.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no systemd-analyze to read units with: apt-get install systemd")
	case err != nil:
		t.Skip("this machine has no systemd-analyze to read units with")
	}
	dir := t.TempDir()
	goldens, err := filepath.Glob("testdata/*.service.golden")
	if err != nil || len(goldens) < 4 {
		t.Fatalf("got %v, %v; want the units", goldens, err)
	}
	var files []string
	for _, g := range goldens {
		text, err := os.ReadFile(g)
		if err != nil {
			t.Fatal(err)
		}
		// The program and the other unit need not exist on this machine.
		plain := strings.NewReplacer("/usr/local/bin/det-deploy", "/bin/true", "Requires=det-deploy-data.service\n", "").Replace(string(text))
		file := filepath.Join(dir, "det-deploy-"+strings.TrimSuffix(filepath.Base(g), ".golden"))
		if err := os.WriteFile(file, []byte(plain), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	out, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no", "--recursive-errors=no"}, files...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) || strings.Contains(line, "det-deploy-") {
			t.Errorf("got %s, want a unit that systemd reads without a word", line)
		}
	}
	if err != nil && !t.Failed() {
		t.Logf("systemd-analyze found fault with something else: %v: %s", err, out)
	}
}
