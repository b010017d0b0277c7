package elastic_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// loser is Google's Compute Engine whose answers to launches are lost while it is on.
type loser struct {
	front http.Handler
	on    atomic.Bool
}

func (l *loser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.on.Load() && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/instances") {
		l.front.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	l.front.ServeHTTP(w, r)
}

func TestTheMasterOnGoogleIsKilledAtEveryStage(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := new(loser)
	c, g := prepareGoogle(t, gcecloud.Options{Names: map[string]http.Handler{"compute.googleapis.com": l}})
	l.front = g.world.Front()
	g.becomeMaster(t, g.masterAccount(), scopeAll)
	c.launch(strings.NewReplacer("DIR", c.dir).Replace(googlePool + indent(`
zone: us-west1-b
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
max_instances: 3
max_idle_agent_period: 10s
`)))
	id := c.killAtEveryStage(func() func() {
		l.on.Store(true)
		return func() { l.on.Store(false) }
	})
	if n := c.Booted(); n != 1 {
		t.Errorf("got %d machines in all, want 1", n)
	}
	c.history(id, "n1-standard-4", "idle")
}

// TestNobodyElseJoinsOnGoogle has others try to be a machine of the pool: machines that
// the master did not launch, with the right account and without any, and an agent with a
// join token that takes a machine's name.
func TestNobodyElseJoinsOnGoogle(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	for name, account := range map[string]string{"pool with an account": "AGENT", "pool without": `""`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, g := onGoogle(t, `
zone: us-west1-b
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
service_account: {email: `+account+`}
min_instances: 1
max_instances: 2
`)
			mine := c.machines(1, 3*time.Minute)[0]
			c.eventually("the machine joins", 3*time.Minute, func() error { return c.lists(mine) })
			same := g.copyMachine(t, mine, "impostor-with", &compute.ServiceAccount{Email: g.agent, Scopes: []string{scopeAll}})
			other := g.copyMachine(t, mine, "impostor-without", nil)
			for _, id := range []string{same, other} {
				c.eventually(id+" is refused", 3*time.Minute, func() error {
					return c.logged("action=agent.join", "outcome=refused", "target="+id)
				})
				if c.lists(id) == nil {
					t.Errorf("%s is an agent", id)
				}
			}
			if out := c.static(mine); !strings.Contains(out, "launched") {
				t.Errorf("got %s", out)
			}
			if err := c.lists(mine); err != nil {
				t.Errorf("the machine was pushed out: %v", err)
			}
		})
	}
}

// copyMachine makes a machine with the labels and the metadata of another, as a person who
// may read these can.
func (g *google) copyMachine(t *testing.T, from, name string, account *compute.ServiceAccount) string {
	t.Helper()
	of := g.cloud.Find(from)
	in := machineOf(name, zoneB, account)
	in.Labels, in.Metadata = of.Labels, &compute.Metadata{Items: of.Metadata.Items}
	if account == nil && !strings.Contains(metadataOf(of), "enable-guest-attributes") {
		yes := "TRUE"
		in.Metadata.Items = append(in.Metadata.Items, &compute.MetadataItems{Key: "enable-guest-attributes", Value: &yes})
	}
	g.insert(t, zoneB, in)
	return name
}

func metadataOf(i *compute.Instance) string {
	var keys []string
	for _, item := range i.Metadata.Items {
		keys = append(keys, item.Key)
	}
	return strings.Join(keys, " ")
}

// A task on a machine that Google takes back has thirty seconds, in which it writes a
// checkpoint; the machine's power key is pressed at the same time.
func TestASpotMachineOfGooglesWritesACheckpoint(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, g := onGoogle(t, `
zone: us-west1-b
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
service_account: {email: AGENT}
spot: {fallback_to_on_demand: true}
max_instances: 2
max_idle_agent_period: 20s
`)
	task := c.run("trap 'echo asked to stop; sleep 8; echo checkpoint written; exit 0' TERM; echo working; while :; do sleep 0.2; done")
	c.logs(task, "working")
	id := c.machines(1, 3*time.Minute)[0]
	if i := g.cloud.Find(id); i.Scheduling.ProvisioningModel != "SPOT" {
		t.Errorf("got %+v, want a spot machine", i.Scheduling)
	}
	g.world.Tune(func(o *gcptest.Options) { o.Stopping = 30 * time.Second })
	g.cloud.Preempt(t, id)
	c.logs(task, "checkpoint written")
	// What comes next goes to another machine, not to the one that is leaving.
	next := c.run("echo next on $(hostname)")
	c.logs(next, "next on det-")
	g.world.Tune(func(o *gcptest.Options) { o.Stopping = 0 })
	c.machines(0, 3*time.Minute)
	c.history(id, "spot", "interruption")
	c.eventually("the preempted machine is deleted", 3*time.Minute, func() error {
		if g.cloud.Find(id) != nil {
			return errors.New("it still exists")
		}
		return nil
	})
}

func TestAStockOutTakesTheNextZone(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, g := onGoogle(t, `
zones: [us-west1-a, us-west1-b]
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
max_instances: 2
max_idle_agent_period: 20s
`)
	g.world.StockOutWithDetails(zoneA, "", -1)
	task := c.run("echo hello from $(hostname)")
	c.logs(task, "hello from det-")
	id := c.machines(1, time.Minute)[0]
	if i := g.cloud.Find(id); !strings.HasSuffix(i.Zone, "/"+zoneB) {
		t.Errorf("got a machine in %s, want %s", i.Zone, zoneB)
	}
}
