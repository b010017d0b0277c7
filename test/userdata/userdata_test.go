package userdata_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/templates"
	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

const group = "/det-deploy/lab"

// A master's machine and then an agent's, launched as by the installer and the master. They run in
// turn because machines are expensive.
func TestMachinesBootFromTheirUserData(t *testing.T) {
	t.Parallel()
	c := newAmazon(t)
	scope := policy.Scope{Account: c.account.ID, Region: motest.Region, Cluster: "lab"}
	c.account.Role(t, "master", policy.Master(scope).String())
	c.account.Role(t, "agent", policy.Agent(scope).String())
	logs := cloudwatchlogs.NewFromConfig(c.account.Config())
	if _, err := logs.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String(group)}); err != nil {
		t.Fatal(err)
	}
	c.account.Enforce(t, true) // machines have the permissions of the installer, and no others
	sums := map[string]string{runtime.GOARCH: c.binary.SHA256}
	data, err := templates.MasterBoot{Cluster: "lab", Region: motest.Region, Bucket: c.bucket, SHA256: sums, Endpoint: c.account.Endpoint}.Render()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.want(c.files("first"), c.reported)
	m := c.launch("master", data)
	id, address := *m.InstanceId, *m.PrivateIpAddress
	eventually(t, "the master serves", func() bool { return c.status().Ready }, func() any { return c.lines(id) })
	t.Logf("the master serves after %s", time.Since(began).Round(time.Second))
	if got := c.ask(address, "/info"); !strings.Contains(got, `"cluster_name":"first"`) {
		t.Errorf("got %s, want the master of this configuration", got)
	}
	if s := c.status(); s.Instance != id || s.Generation != 1 || s.Error != "" {
		t.Errorf("got %+v, want the machine and what it was told", s)
	}
	for _, line := range []string{"det-deploy: installing the master of cluster lab", "det-deploy: done"} {
		if got := c.boot.Console(id); !strings.Contains(got, line) {
			t.Errorf("got a console without %q", line)
		}
	}

	t.Run("another configuration", func(t *testing.T) { rest.Only(t); c.reconfigure(t, address) })
	if got := c.run(id, "/var/lib/cloud/scripts/per-boot/det-deploy"); got != "det-deploy: this machine is already the master of a cluster\n" {
		t.Errorf("the next boot: got %q, want that nothing is done", got)
	}
	t.Run("another version", func(t *testing.T) { rest.Only(t); c.upgrade(t, id, address) })
	t.Run("its journal is in CloudWatch", func(t *testing.T) { c.reports(t, logs, id) })
	t.Run("an agent's machine", func(t *testing.T) { rest.Only(t); c.agent(t, address) })
	t.Run("it is stopped", func(t *testing.T) { rest.Only(t); c.stop(t, id) })
}

// reconfigure changes the configuration, for which a machine polls twice a minute.
func (c *amazon) reconfigure(t *testing.T, address string) {
	t.Helper()
	c.want(c.files("second"), c.reported)
	eventually(t, "another configuration is carried out", func() bool {
		return c.status().Generation == 2 && strings.Contains(c.ask(address, "/info"), `"cluster_name":"second"`)
	}, func() any { return c.status() })
}

// stop stops the master.
func (c *amazon) stop(t *testing.T, id string) {
	t.Helper()
	c.want(c.files("second"), c.reported, func(m *manifest.Manifest) { m.Phase, m.Version = manifest.Stop, "2" })
	eventually(t, "the master is stopped", func() bool { return c.status().Phase == manifest.Stop }, func() any { return c.status() })
	if got := c.run(id, "systemctl", "is-active", "det-deploy-master.service"); strings.HasPrefix(got, "active") {
		t.Errorf("got %s, want a unit that does not run", got)
	}
}

// reports checks the logs that a machine reported, but not its metrics: moto does not support the
// protocol with which the SDK sends them.
func (c *amazon) reports(t *testing.T, logs *cloudwatchlogs.Client, id string) {
	t.Helper()
	eventually(t, "the journal is carried", func() bool {
		out, err := logs.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{
			LogGroupName: aws.String(group), LogStreamName: aws.String(id + "/det-deploy-master"),
		})
		return err == nil && len(out.Events) > 0
	}, func() any { return c.run(id, "journalctl", "-u", "det-deploy-host", "--no-pager") })
}

// idle prevents the agent from joining. No master launched its machine, so that the master would
// reject it and it would shut down.
const idle = `  - path: /etc/systemd/system/det-deploy-agent.service.d/idle.conf
    content: |
      [Service]
      ExecStart=
      ExecStart=/bin/sleep infinity
`

// agent boots an agent's machine and checks the proofs and notices that it passes to the agent.
func (c *amazon) agent(t *testing.T, master string) {
	t.Helper()
	data, err := templates.AgentBoot{
		Cluster: "lab", Master: "https://" + master + ":8443", CA: c.ca, Name: certName,
		SHA256:   map[string]string{runtime.GOARCH: c.binary.SHA256},
		Endpoint: c.account.Endpoint, Logs: group, Runtime: "process",
	}.Render()
	if err != nil {
		t.Fatal(err)
	}
	id := *c.launch("agent", append(data, idle...)).InstanceId
	const ask = "curl -sf --max-time 10 --unix-socket " + machine.Socket + " http://machine"
	var p machine.Proof
	eventually(t, "an agent's machine proves itself", func() bool {
		return json.Unmarshal([]byte(c.run(id, "sh", "-c", ask+machine.ProofPath+"?audience=lab")), &p) == nil
	}, func() any { return c.lines(id) })
	if got := c.identity(t, p); !strings.Contains(got, "/agent/"+id) || p.Instance != id {
		t.Errorf("got %s of %s, want that Amazon says it is %s", got, p.Instance, id)
	}
	c.account.Interrupt(t, id, time.Hour)
	var n machine.Notice
	eventually(t, "an interruption is told", func() bool {
		return json.Unmarshal([]byte(c.run(id, "sh", "-c", ask+machine.NoticePath+"?after=0")), &n) == nil
	}, func() any {
		return fmt.Sprint(c.lines(id), c.run(id, "journalctl", "-u", "det-deploy-host", "--no-pager"), c.account.Machines(t))
	})
	if n.Kind != machine.Interruption || n.At.IsZero() || n.Reason != "spot interruption: terminate" {
		t.Errorf("got %+v, want an interruption", n)
	}
	if got := c.run(id, "systemctl", "is-enabled", "det-deploy-agent.service"); got != "enabled\n" {
		t.Errorf("got %s, want an agent that starts at every boot", got)
	}
	if got := c.run(id, "stat", "-c", "%a", machine.Socket); got != "600\n" {
		t.Errorf("got mode %s, want a socket for root only", got)
	}
}

// identity returns the owner of a proof, as a master determines it.
func (c *amazon) identity(t *testing.T, p machine.Proof) string {
	t.Helper()
	var s attest.Signed
	if err := json.Unmarshal(p.Data, &s); err != nil || p.Kind != attest.Kind {
		t.Fatalf("got %s: %v", p.Kind, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(attest.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range s.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.lab.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
