package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/document"
)

func TestTheAgentReadsWhatItIsGiven(t *testing.T) {
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

func TestTheUnitRunsWithTheSettingsGiven(t *testing.T) {
	t.Parallel()
	o := settings{wire.Host{Role: agent, Cluster: "lab", Logs: "/det-deploy/lab", Metrics: true, Endpoint: "http://e"}}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(o.flagArgs(), " ")
	if want := "--role agent --cluster-id lab --aws-endpoint http://e --journal-group /det-deploy/lab --report-use"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
