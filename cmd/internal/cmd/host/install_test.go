package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/templates"
)

func TestAgentReadsLocalConfiguration(t *testing.T) {
	t.Parallel()
	o := &installOptions{Master: "https://10.0.0.5:8443", MasterCA: "/etc/determined/ca.pem", MasterName: "det-deploy-master", Runtime: "docker"}
	o.Host = wire.Host{Role: agent, Cluster: "lab"}
	a, err := o.agentYAML()
	if err != nil {
		t.Fatal(err)
	}
	text, err := document.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	l, err := agentconfig.ParseDocument(text, "agent.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := l.Agent
	if !got.Launched() || got.ClusterID != "lab" || got.MasterHost != "10.0.0.5" || got.MasterPort != 8443 || got.ContainerRuntime != "docker" {
		t.Errorf("got %s, want a machine that was launched, and its master", text)
	}
	want := agentconfig.TLS{Enabled: true, MasterCert: "/etc/determined/ca.pem", MasterCertName: "det-deploy-master"}
	if d := cmp.Diff(got.Security.TLS, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestUnitHasGivenSettings(t *testing.T) {
	t.Parallel()
	o := settings{wire.Host{Role: agent, Cloud: wire.CloudAWS, Cluster: "lab", Logs: "/det-deploy/lab", Metrics: true, Endpoint: "http://e"}}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(o.flagArgs(), " ")
	if want := "--role agent --cluster-id lab --aws-endpoint http://e --journal-group /det-deploy/lab --report-use"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	o = settings{wire.Host{Role: master, Cloud: wire.CloudGCP, Cluster: "lab", Bucket: "b"}}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(o.flagArgs(), " "), "--cloud gcp --role master --cluster-id lab --control-bucket b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The command accepts the arguments of the startup script on Google Cloud.
func TestInstallAcceptsStartupScriptArguments(t *testing.T) {
	t.Parallel()
	sums := map[string]string{"amd64": strings.Repeat("ab", 32)}
	for _, boot := range []interface{ Render() ([]byte, error) }{
		templates.GoogleMasterBoot{Cluster: "lab", Bucket: "det-deploy-lab-415104041262", SHA256: sums, Disk: "det-data"},
		templates.GoogleMasterBoot{Cluster: "lab", Bucket: "det-deploy-lab-415104041262", SHA256: sums},
		templates.GoogleAgentBoot{AgentBoot: templates.AgentBoot{
			Cluster: "lab", Master: "https://m:8443", CA: "x", Name: "det-deploy-master", SHA256: sums, Logs: "det-deploy-lab", Metrics: true, Runtime: "process",
		}},
	} {
		script, err := boot.Render()
		if err != nil {
			t.Fatal(err)
		}
		_, literal, _ := strings.Cut(string(script), "DATA = json.loads(")
		literal, _, _ = strings.Cut(literal, ")\n")
		text, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatal(err)
		}
		var data struct{ Install []string }
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			t.Fatal(err)
		}
		c := newInstall(&term.Streams{})
		if err := c.ParseFlags(data.Install); err != nil {
			t.Errorf("%q: got %v", data.Install, err)
		}
		if c.Flag("cloud").Value.String() != wire.CloudGCP {
			t.Errorf("%q: got no cloud", data.Install)
		}
	}
}

// The services of a machine get the settings of its installation.
func TestSetUpMachineOnGoogleCloud(t *testing.T) {
	t.Parallel()
	o := &installOptions{}
	o.Host = wire.Host{Role: master, Cloud: wire.CloudGCP, Cluster: "lab", Bucket: "b"}
	o.Name = "det-data"
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	steps, err := o.steps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(steps, func(s wire.Step) bool { return strings.HasSuffix(s.What, "det-deploy-data.service") }) {
		t.Errorf("got %+v, want a unit that mounts the disk", steps)
	}
}

// Not parallel, because it sets an environment variable.
func TestEngineIsHeldBeforeScriptsRun(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "dpkg-query"), []byte("#!/bin/sh\necho docker-ce installed install\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, boot := range []string{"aws", "gcp"} {
		for runtime, want := range map[string]bool{"docker": true, "auto": true, "process": false} {
			o := &installOptions{Master: "https://10.0.0.5:8443", Runtime: runtime}
			o.Host = wire.Host{Role: agent, Cloud: boot, Cluster: "lab"}
			steps, err := o.steps(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := steps[0].What == "hold the packages docker-ce"; got != want {
				t.Errorf("%s, runtime %s: got %q first, want the packages to be held: %t", boot, runtime, steps[0].What, want)
			}
		}
	}
}

func TestTasksGetProxiesOfMachine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proxy.env")
	if err := os.WriteFile(file, []byte("HTTP_PROXY=http://p:1\nhttp_proxy=http://p:1\nHTTPS_PROXY=http://p:2\nNO_PROXY=10.0.0.5,.corp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &installOptions{Master: "https://10.0.0.5:8443", Runtime: "docker"}
	o.Host = wire.Host{Role: agent, Cloud: wire.CloudAWS, Cluster: "lab", Proxy: file}
	a, err := o.agentYAML()
	if err != nil || a.HTTPProxy.Reveal() != "http://p:1" || a.HTTPSProxy.Reveal() != "http://p:2" || a.NoProxy != "10.0.0.5,.corp" {
		t.Errorf("got %+v and %v, want the proxies of the machine", a, err)
	}
	if _, err := o.steps(t.Context()); err != nil {
		t.Error(err)
	}
	o = &installOptions{}
	o.Host = wire.Host{Role: master, Cloud: wire.CloudAWS, Cluster: "lab", Bucket: "b", Proxy: file}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--proxy-file requires --role agent") {
		t.Errorf("got %v, want that a master has them in its manifest", err)
	}
}
