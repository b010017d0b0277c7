package elastic_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// zoneB is the zone of the pools.
const zoneB = "us-west1-b"

// scopeCompute is the scope that the console calls "Compute Engine: Read Write", scopeAll the one
// that Google recommends instead.
const (
	scopeCompute = "https://www.googleapis.com/auth/compute"
	scopeAll     = "https://www.googleapis.com/auth/cloud-platform"
)

// masterMachine is the name of the master's machine.
const masterMachine = "determined-master"

// google is a project with a machine for a manually installed master.
type google struct {
	world *gcptest.World
	cloud *gcecloud.Cloud
	calls *compute.Service
	// agent is the email of the agents' service account.
	agent string
}

// googlePool configures an elastic pool; a test appends its own settings.
const googlePool = `
bind_ip: 10.200.0.1
data_dir: DIR/master
security:
  tls: auto
  initial_user_password: ` + password + `
resource_pools:
  - pool_name: default
    provider:
      type: gcp
      master_url: ` + address + `
      boot_disk_source_image: ` + gcptest.ImageDebian + `
      cpu_slots_allowed: true
      agent_config_file_contents: {container_runtime: process, trust_users: true}
`

// onGoogle starts a master with a pool; extra is added to the pool's provider. The master has a
// separate service account with the roles of the manuals.
func onGoogle(t *testing.T, extra string) (*cluster, *google) {
	t.Helper()
	c, g := prepareGoogle(t, gcecloud.Options{})
	g.becomeMaster(t, g.masterAccount(), scopeAll)
	c.launch(strings.NewReplacer("DIR", c.dir, "AGENT", g.agent).Replace(googlePool + indent(extra)))
	return c, g
}

// prepareGoogle creates everything except the master's machine and the master.
func prepareGoogle(t *testing.T, o gcecloud.Options) (*cluster, *google) {
	t.Helper()
	c := newCluster(t)
	world := gcptest.New(t, gcptest.Options{Operation: 200 * time.Millisecond, Provisioning: 300 * time.Millisecond})
	calls, err := compute.NewService(t.Context(), option.WithHTTPClient(world.Client("")))
	if err != nil {
		t.Fatal(err)
	}
	g := &google{world: world, cloud: gcecloud.New(t, c.lab, world, o), calls: calls}
	g.agent = world.GiveAccount(gcptest.Project, "det-agent")
	c.site, c.Booter = g, booter.Start(t, c.lab, g.cloud)
	return c, g
}

// masterAccount creates a service account with the roles of the manuals' first option.
func (g *google) masterAccount() string {
	email := g.world.GiveAccount(gcptest.Project, "det-master")
	for _, role := range []string{"roles/compute.admin", "roles/iam.serviceAccountUser"} {
		g.world.Bind("projects/"+gcptest.Project, role, "serviceAccount:"+email)
	}
	return email
}

// becomeMaster creates the master's machine, on which the test then runs its programs.
func (g *google) becomeMaster(t *testing.T, account, scope string) {
	t.Helper()
	g.insert(t, zoneB, machineOf(masterMachine, zoneB, &compute.ServiceAccount{Email: account, Scopes: []string{scope}}))
	g.cloud.RunOn(t, masterMachine)
}

// machineOf returns a machine as a user configures it.
func machineOf(name, zone string, account *compute.ServiceAccount) *compute.Instance {
	out := &compute.Instance{
		Name: name, MachineType: "zones/" + zone + "/machineTypes/n1-standard-2",
		Disks: []*compute.AttachedDisk{
			{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian, DiskSizeGb: 100}},
		},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
	}
	if account != nil {
		out.ServiceAccounts = []*compute.ServiceAccount{account}
	}
	return out
}

// insert creates a machine and waits until it exists.
func (g *google) insert(t *testing.T, zone string, in *compute.Instance) {
	t.Helper()
	op, err := g.calls.Instances.Insert(gcptest.Project, zone, in).Do()
	if err == nil {
		op, err = g.calls.ZoneOperations.Wait(gcptest.Project, zone, op.Name).Do()
	}
	if err != nil || op.Error != nil {
		t.Fatal(err, op.Error)
	}
}

func (g *google) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return g.cloud.Command(ctx, program, args...)
}

func (g *google) machines(testing.TB) map[string]bool {
	out := map[string]bool{}
	for _, i := range g.world.Instances() {
		if i.Name != masterMachine {
			out[i.Name] = i.Status == "PROVISIONING" || i.Status == "STAGING" || i.Status == "RUNNING"
		}
	}
	return out
}

// TestGoogleSpotMachineSavesCheckpoint tests the life of a pool on Google. On preemption the
// machine's power button is pressed, and the task has thirty seconds to write a checkpoint.
func TestGoogleSpotMachineSavesCheckpoint(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, g := onGoogle(t, `
zone: us-west1-b
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
service_account: {email: AGENT}
spot: {fallback_to_on_demand: true}
max_instances: 2
max_idle_agent_period: 5s
startup_script: echo "startup script ran" >/dev/console
`)
	task := c.run("trap 'echo asked to stop; sleep 8; echo checkpoint written; exit 0' TERM; echo working on $(hostname); while :; do sleep 0.2; done")
	began := time.Now()
	id := c.machines(1, 3*time.Minute)[0]
	c.logs(task, "working on "+id)
	t.Logf("the task wrote its first line after %s", time.Since(began).Round(time.Millisecond))
	if text := c.Console(id); !strings.Contains(text, "startup script ran") {
		t.Errorf("the startup script did not run:\n%s", text)
	}
	if i := g.cloud.Find(id); i.Scheduling.ProvisioningModel != "SPOT" || i.ServiceAccounts[0].Email != g.agent {
		t.Errorf("got %+v of %+v, want a spot machine with the pool's account", i.Scheduling, i.ServiceAccounts)
	}
	if err := c.lists(id); err != nil {
		t.Errorf("the agent is not called as its machine: %v", err)
	}
	g.world.Tune(func(o *gcptest.Options) { o.Stopping = 30 * time.Second })
	g.cloud.Preempt(t, id)
	c.logs(task, "checkpoint written")
	// The next task must be scheduled on another machine, not on the preempted one.
	next := c.run("echo next on $(hostname)")
	c.logs(next, "next on det-")
	g.world.Tune(func(o *gcptest.Options) { o.Stopping = 0 })
	c.machines(0, 3*time.Minute)
	c.history(id, "n1-standard-4", "spot", "interruption")
	c.eventually("the preempted machine is deleted", 3*time.Minute, func() error {
		if g.cloud.Find(id) != nil {
			return errors.New("it still exists")
		}
		return nil
	})
}
