package userdata_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/log"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/templates"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// A master's machine and then agents' machines, launched as by the installer and the master on
// Google, with Google's own runner of startup scripts.
func TestMachinesBootFromTheirStartupScript(t *testing.T) {
	t.Parallel()
	c := newGoogle(t)
	sums := map[string]string{runtime.GOARCH: c.binary.SHA256}
	script, err := templates.GoogleMasterBoot{Cluster: "lab", Bucket: c.bucket, SHA256: sums, Disk: "det-data"}.Render()
	must(t, err)
	began := time.Now()
	c.want(c.files("first"), c.reported)
	id, address := c.launchMaster(t, script)
	eventually(t, "the master serves", func() bool { return c.status().Ready }, func() any { return c.lines(id) })
	t.Logf("the master serves after %s", time.Since(began).Round(time.Second))
	if got := c.ask(address, "/info"); !strings.Contains(got, `"cluster_name":"first"`) {
		t.Errorf("got %s, want the master of this configuration", got)
	}
	if s := c.status(); s.Instance != id || s.Generation != 1 || s.Error != "" {
		t.Errorf("got %+v, want the machine and what it was told", s)
	}
	c.wantDataDisk(t, id)
	t.Run("another boot", func(t *testing.T) { rest.Only(t); c.reboot(t, id, address) })
	t.Run("another version", func(t *testing.T) { rest.Only(t); c.upgrade(t, id, address) })
	t.Run("what it reports", func(t *testing.T) { rest.Only(t); c.reports(t, id) })
	t.Run("an agent's machine", func(t *testing.T) {
		c.agent(t, address, c.giveAccount(t, "agent", identity.AgentPermissions()), attest.KindToken)
	})
	t.Run("an agent's machine without a service account", func(t *testing.T) { rest.Only(t); c.agent(t, address, "", attest.KindGuest) })
}

// wantDataDisk checks that the blank disk was formatted and mounted.
func (c *google) wantDataDisk(t *testing.T, id string) {
	t.Helper()
	if got := c.run(id, "findmnt", "--noheadings", "--output", "SOURCE,FSTYPE,LABEL", manifest.DataDir); strings.Join(strings.Fields(got), " ") != "/dev/sdb ext4 det-deploy-data" {
		t.Errorf("got %q at %s, want the data disk", got, manifest.DataDir)
	}
}

// reboot stops the machine and starts it again.
func (c *google) reboot(t *testing.T, id, address string) {
	t.Helper()
	must(t, api.Run(t.Context(), c.clients, c.clients.Compute.Instances.Stop(c.clients.Project, zone, id)))
	must(t, api.Run(t.Context(), c.clients, c.clients.Compute.Instances.Start(c.clients.Project, zone, id)))
	eventually(t, "the startup script does nothing", func() bool {
		return strings.Contains(c.boot.Console(id), "det-deploy: this machine is already the master of a cluster")
	}, func() any { return c.lines(id) })
	eventually(t, "the master serves again", func() bool {
		return strings.Contains(c.ask(address, "/info"), `"cluster_name":"first"`)
	}, func() any { return c.lines(id) })
	c.wantDataDisk(t, id)
}

// reports checks the logs and metrics that a machine reported.
func (c *google) reports(t *testing.T, id string) {
	t.Helper()
	l := log.Log{ID: c.logs, Clients: c.clients}
	eventually(t, "the journal is carried", func() bool {
		lines := map[string]int{}
		must(t, l.Read(t.Context(), log.Query{Instance: id, Unit: "det-deploy-master"}, func(line log.Line) { lines[line.Text]++ }))
		return len(lines) > 0
	}, func() any { return c.run(id, "journalctl", "-u", "det-deploy-host", "--no-pager") })
	ids, texts := map[string]bool{}, 0
	must(t, l.Read(t.Context(), log.Query{}, func(line log.Line) {
		ids[line.ID] = true
		texts++
		if line.Instance != id || line.Unit == "" {
			t.Errorf("got %+v, want a line of this machine", line)
		}
	}))
	if len(ids) != texts {
		t.Errorf("got %d lines with %d IDs", texts, len(ids))
	}
	eventually(t, "its use is measured", func() bool {
		for _, s := range c.world.Points(gcptest.Project) {
			if s.Metric.Type == "custom.googleapis.com/Determined/DiskUtilization" && s.Metric.Labels["path"] == manifest.DataDir {
				return true
			}
		}
		return false
	}, func() any { return c.run(id, "journalctl", "-u", "det-deploy-host", "--no-pager") })
}

// agent boots an agent's machine and checks the proofs and notices that it passes to the agent.
func (c *google) agent(t *testing.T, master, account, kind string) {
	t.Helper()
	b := templates.AgentBoot{
		Cluster: "lab", Master: "https://" + master + ":8443", CA: c.ca, Name: certName,
		SHA256: map[string]string{runtime.GOARCH: c.binary.SHA256}, Runtime: "process",
	}
	if account != "" {
		b.Logs = c.logs
	}
	script, err := templates.GoogleAgentBoot{AgentBoot: b}.Render()
	must(t, err)
	f, err := fleet.New(c.clients, fleet.Config{
		Cluster: "lab", Pool: "gpu", Pair: fleet.Label{Key: "managed-by", Value: "lab"}, Zones: []string{zone},
		Image: gcptest.ImageDebian, Account: account, Scopes: []string{cloudPlatform}, StartupScript: string(script),
	})
	must(t, err)
	made, err := f.Launch(t.Context(), cloud.Launch{Token: kind, Count: 1, Offer: cloud.Offer{Type: "e2-standard-4", Zone: zone, Price: cloud.Spot}})
	must(t, err)
	id := string(made[0].ID)
	const ask = "curl -sf --max-time 55 --unix-socket " + machine.Socket + " http://machine"
	var p machine.Proof
	eventually(t, "an agent's machine proves itself", func() bool {
		return json.Unmarshal([]byte(c.run(id, "sh", "-c", ask+machine.ProofPath+"?audience=lab")), &p) == nil
	}, func() any { return c.lines(id) })
	keys := &attest.Keys{Transport: gcptest.InProcess(c.world.Certs("key-1")), Now: c.world.Now}
	v := attest.Verifier{Keys: keys, Machines: fleet.Pools{f}, Now: c.world.Now}
	if who, err := v.Attest(t.Context(), "lab", cloud.Proof{Kind: p.Kind, Data: p.Data}); err != nil || string(who.Instance) != id || p.Kind != kind || p.Instance != id {
		t.Errorf("got %+v by %s: %v; want a proof of %s", who, p.Kind, err, id)
	}
	c.world.AnnounceMaintenance(gcptest.Project, zone, id, "TERMINATE_ON_HOST_MAINTENANCE")
	announced := time.Now()
	var n machine.Notice
	eventually(t, "maintenance is told", func() bool {
		return json.Unmarshal([]byte(c.run(id, "sh", "-c", ask+machine.NoticePath+"?after=0")), &n) == nil
	}, func() any {
		return fmt.Sprint(c.lines(id), c.run(id, "journalctl", "-u", "det-deploy-host", "--no-pager"))
	})
	if n.Kind != machine.Interruption || n.At.Before(announced) || n.Reason != "host maintenance: TERMINATE_ON_HOST_MAINTENANCE" {
		t.Errorf("got %+v, want an interruption", n)
	}
	if got := c.run(id, "systemctl", "is-enabled", "det-deploy-agent.service"); got != "enabled\n" {
		t.Errorf("got %s, want an agent that starts at every boot", got)
	}
	c.preempt(t, id, n.N)
}

// preempt preempts a machine, which presses its power button. A container of its agent may run
// until the master knows its end.
func (c *google) preempt(t *testing.T, id string, after int64) {
	t.Helper()
	const order = "/var/lib/determined-agent/containers/x.json"
	c.run(id, "sh", "-c", "mkdir -p $(dirname "+order+") && echo x >"+order)
	c.world.Tune(func(o *gcptest.Options) { o.Stopping = 10 * time.Minute })
	defer c.world.Tune(func(o *gcptest.Options) { o.Stopping = 0 })
	began := time.Now()
	c.cloud.Preempt(t, id)
	journal := func() any { return c.run(id, "journalctl", "--no-pager", "--unit", "det-deploy-agent") }
	eventually(t, "the machine waits for its tasks", func() bool {
		return strings.Contains(fmt.Sprint(journal()), "machine is shutting down; waiting for its tasks")
	}, journal)
	var n machine.Notice
	ask := fmt.Sprintf("curl -sf --max-time 55 --unix-socket %s 'http://machine%s?after=%d'", machine.Socket, machine.NoticePath, after)
	if got := c.run(id, "sh", "-c", ask); json.Unmarshal([]byte(got), &n) != nil || n.Reason != "spot preemption" || n.At.Sub(began) > 35*time.Second {
		t.Errorf("got %s, want the preemption while the machine shuts down", got)
	}
	c.run(id, "rm", order)
	ended := time.Now()
	eventually(t, "the machine is off once its tasks have ended", func() bool { return !slices.Contains(c.boot.Running(), id) }, journal)
	t.Logf("the machine was off %s after its last task", time.Since(ended).Round(time.Second))
}
