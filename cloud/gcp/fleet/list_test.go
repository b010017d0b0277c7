package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// pass waits in a synctest bubble.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	if err := wait.For(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func ids(all []cloud.Instance) []cloud.InstanceID {
	var out []cloud.InstanceID
	for _, i := range all {
		out = append(out, i.ID)
	}
	return out
}

// addForeign creates an instance with labels that does not belong to any pool.
func (p *pool) addForeign(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	c := p.clients(t)
	err := api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, zoneB, &compute.Instance{
		Name: name, MachineType: "zones/" + zoneB + "/machineTypes/e2-medium", Labels: labels,
		Disks:             []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageUbuntu}}},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: network}},
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// An instance of the user with the documented label, a cluster whose name has this one's as its
// prefix, and another pool are excluded.
func TestListReadsAllZonesAndOnlyOwnInstances(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{Page: 2, IgnoreFilters: true}, nil)
	var want []string
	for n := range 5 {
		zone := []string{zoneA, zoneB}[n%2]
		want = append(want, string(p.launch(t, fmt.Sprint("t", n), 1, onDemand(zone))[0].ID))
	}
	p.addForeign(t, "own", map[string]string{"managed-by": "lab", "determined-resource-pool": "gpu"})
	p.addForeign(t, "det-lab-gpu-x-0", map[string]string{"det-deploy-cluster": "lab-2", "det-deploy-pool": "gpu"})
	p.addForeign(t, "det-lab-master", map[string]string{"det-deploy-cluster": "lab"})
	p.reopen(t, func(p *pool) { p.cfg.Pool = "GPU" }).launch(t, "x", 1, onDemand(zoneB))
	slices.Sort(want)
	got := p.list(t)
	var names []string
	for _, m := range got {
		names = append(names, string(m.ID))
	}
	if diff := cmp.Diff(names, want); diff != "" {
		t.Errorf("machines (-got +want):\n%s", diff)
	}
	if m := got[0]; !strings.HasPrefix(m.Token, "t") || m.Offer != onDemand(m.Zone) || time.Since(m.Launched) > time.Hour {
		t.Errorf("got %+v", m)
	}
	foreign := []cloud.InstanceID{"own", "det-lab-gpu-x-0", "det-lab-master"}
	if err := p.Terminate(t.Context(), foreign); err != nil || len(p.names()) != 9 {
		t.Errorf("terminate: got %v and %v", err, p.names())
	}
}

func TestListWithoutZoneFails(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	id := p.launch(t, "one", 1, onDemand(zoneA))[0].ID
	p.world.Unreachable(zoneB)
	if got, err := p.List(t.Context()); cloud.KindOf(err) != cloud.Unavailable || !strings.Contains(err.Error(), zoneB) {
		t.Errorf("got %v, %v, want it unavailable", got, err)
	}
	if err := p.reopen(t, nil).Terminate(t.Context(), []cloud.InstanceID{id}); cloud.KindOf(err) != cloud.Unavailable {
		t.Errorf("terminate: got %v, want it unavailable: the machine may be in %s", err, zoneB)
	}
	if err := p.Terminate(t.Context(), []cloud.InstanceID{id}); err != nil {
		t.Errorf("terminate: got %v, want none: it is known where the machine is", err)
	}
}

func TestStoppedInstanceHasReason(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) { c.Spot = true })
	taken, off := p.launch(t, "one", 1, spot(zoneB))[0].ID, p.launch(t, "two", 1, spot(zoneB))[0].ID
	p.world.Preempt(gcptest.Project, zoneB, string(taken))
	p.world.PowerOff(gcptest.Project, zoneB, string(off))
	for range 2 {
		for _, m := range p.list(t) {
			want := cloud.Instance{Reason: "compute.instances.preempted", Kind: cloud.NoCapacity}
			if m.ID == off {
				want = cloud.Instance{Reason: "compute.instances.guestTerminate"}
			}
			if m.State != cloud.InstanceStopped || m.Reason != want.Reason || m.Kind != want.Kind {
				t.Errorf("got %+v, want %q and %q", m, want.Reason, want.Kind)
			}
		}
	}
	looks := 0
	for _, e := range p.world.Journal() {
		if e.Op == "compute.zoneOperations.list" {
			looks++
		}
	}
	if looks == 0 || looks > 6 { // three per page
		t.Errorf("looked %d times, want each machine's end looked for once", looks)
	}
	if err := p.Terminate(t.Context(), []cloud.InstanceID{taken, off}); err != nil {
		t.Error(err)
	}
}

// List works without the permission to read the reason.
func TestListWithoutPermissionToReadReason(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) { c.Spot = true })
	id := p.launch(t, "one", 1, spot(zoneB))[0].ID
	p.world.Preempt(gcptest.Project, zoneB, string(id))
	p.world.FailOp("compute.zoneOperations.list", faults.Refuse)
	if got := p.list(t); len(got) != 1 || got[0].State != cloud.InstanceStopped || got[0].Reason != "" {
		t.Errorf("got %+v", got)
	}
	if got := p.list(t); got[0].Kind != cloud.NoCapacity {
		t.Errorf("the next list: got %+v, want the reason", got)
	}
}

func TestConsoleReturnsLastLines(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	id := p.launch(t, "one", 1, onDemand(zoneB))[0].ID
	p.world.WriteConsole(gcptest.Project, zoneB, string(id), strings.Repeat("booting\n", 500)+"no route to master\n")
	got, err := p.Console(t.Context(), id)
	if err != nil || !strings.HasSuffix(got, "\nno route to master") || strings.Count(got, "\n") != 99 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := p.Console(t.Context(), "nobody"); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("unknown instance: got %v", err)
	}
}

// With the documented roles, and with a master whose instance has the access scope "Compute Engine:
// Read Write" only.
func TestFleetWorksWithDocumentedRolesAndScope(t *testing.T) {
	t.Parallel()
	for name, scopes := range map[string][]string{"roles": nil, "scope": {"compute"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, gcptest.Options{}, nil)
			member := "serviceAccount:" + p.world.GiveAccount(gcptest.Project, "det-master")
			p.world.Bind("projects/"+gcptest.Project, "roles/compute.admin", member)
			p.world.Bind("projects/"+gcptest.Project, "roles/iam.serviceAccountUser", member)
			p = p.reopen(t, func(p *pool) {
				p.caller = gcptest.Caller{Member: member, Scopes: scopes}
				p.cfg.Account, p.cfg.Scopes, p.cfg.Spot = p.world.GiveAccount(gcptest.Project, "det-agent"), []string{"https://www.googleapis.com/auth/cloud-platform"}, true
			})
			id := p.launch(t, "one", 1, spot(zoneB))[0].ID
			if got := p.live()[string(id)].ServiceAccounts; len(got) != 1 || got[0].Email != p.cfg.Account {
				t.Errorf("got accounts %v", got)
			}
			if _, err := p.Console(t.Context(), id); err != nil {
				t.Errorf("console: %v", err)
			}
			p.world.Preempt(gcptest.Project, zoneB, string(id))
			if got := p.list(t); got[0].Kind != cloud.NoCapacity {
				t.Errorf("list: got %+v", got)
			}
			if err := p.Terminate(t.Context(), []cloud.InstanceID{id}); err != nil {
				t.Errorf("terminate: %v", err)
			}
		})
	}
}
