package layout_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// project is a project that a test fills.
type project struct {
	world   *gcptest.World
	clients api.Clients
}

func newProject(t *testing.T) project {
	t.Helper()
	w := gcptest.New(t, gcptest.Options{})
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-central1"})
	must(t, err)
	return project{w, c}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wanted returns the layout of a cluster with this cluster.yaml and these flags.
func wanted(t *testing.T, file string, flags ...string) layout.Layout {
	t.Helper()
	settings := map[string]string{spec.FileSetting: file, "project": gcptest.Project, "region": "us-central1", "inbound-cidr": "203.0.113.0/24"}
	for i := 0; i < len(flags); i += 2 {
		settings[flags[i]] = flags[i+1]
	}
	var l layout.Layout
	must(t, spec.GCPFlags().Read(&l.Spec, "lab", settings))
	return l
}

func (p project) look(t *testing.T, l layout.Layout) (layout.Layout, error) {
	t.Helper()
	known, err := l.Look(t.Context(), p.clients, func(context.Context) (bool, error) { return true, nil })
	l.Known = known
	return l, err
}

func TestLookOfDefaultCluster(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	l, err := p.look(t, wanted(t, ""))
	must(t, err)
	if l.Known.Master.Zone != "us-central1-a" || l.MasterImage() != gcptest.ImageMaster || !l.Known.DeterminedPassword {
		t.Errorf("got %+v", l.Known)
	}
	pool := l.Spec.Pools[spec.ComputePool]
	if got := l.PoolZones(pool); !slices.Equal(got, []string{"us-central1-a", "us-central1-b", "us-central1-c"}) || l.SlotsOf(pool) != 1 || l.AgentImage(pool) != gcptest.ImageAgent {
		t.Errorf("got zones %v, %d slots and image %s, want those with L4, 1 and the stock image", got, l.SlotsOf(pool), l.AgentImage(pool))
	}
	if got := l.Used(); !slices.Equal(got, []string{"us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"}) {
		t.Errorf("got %v, want every zone: machines of the aux pool are offered in all", got)
	}
	if archs, err := l.Architectures(); err != nil || !slices.Equal(archs, []string{"amd64"}) {
		t.Errorf("got %v and %v, want amd64", archs, err)
	}
	before := len(p.world.Journal())
	again, err := p.look(t, l)
	must(t, err)
	if diff := cmp.Diff(again.Known, l.Known); diff != "" || len(p.world.Journal()) != before {
		t.Errorf("got %d further calls, want the known facts kept (-got +want):\n%s", len(p.world.Journal())-before, diff)
	}
}

// A zonal disk binds the machines that use it to its zone.
func TestDisksBindToTheirZone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	must(t, api.Run(t.Context(), p.clients, p.clients.Compute.Disks.Insert(p.clients.Project, "us-central1-b", &compute.Disk{
		Name: "mine", SizeGb: 200, Type: "projects/" + gcptest.Project + "/zones/us-central1-b/diskTypes/pd-balanced",
	})))
	const file = "pools: {p: {machines: [n1-standard-8+1xnvidia-tesla-t4], base_config: {disks: [{mode: READ_ONLY, source: zones/us-central1-f/disks/second}]}}}\n"
	l, err := p.look(t, wanted(t, file, "data-disk", "mine", "zone", "us-central1-c"))
	must(t, err)
	if l.Known.Master.Zone != "us-central1-b" {
		t.Errorf("got the master in %s, want it where its disk is", l.Known.Master.Zone)
	}
	if got := l.PoolZones(l.Spec.Pools["p"]); !slices.Equal(got, []string{"us-central1-f"}) {
		t.Errorf("got %v, want the zone of the disk", got)
	}
}

func TestZonesOfPools(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	l, err := p.look(t, wanted(t, "", "machine", "a2-ultragpu-1g", "pool-zone", "us-central1-f,us-central1-c,us-central1-a"))
	must(t, err)
	if got := l.PoolZones(l.Spec.Pools[spec.ComputePool]); !slices.Equal(got, []string{"us-central1-c", "us-central1-a"}) {
		t.Errorf("got %v, want those that offer the machine in the order that was given", got)
	}
	l.Known.Zones = []string{"us-central1-a"}
	one := l.Known.Types["a2-ultragpu-1g"]
	one.Zones = []string{"us-central1-a"}
	l.Known.Types["a2-ultragpu-1g"] = one
	if l, err = p.look(t, l); err != nil || !slices.Contains(l.Known.Zones, "us-central1-c") || slices.Contains(l.Known.Zones, "us-central1-b") {
		t.Errorf("got %v and %v, want zones that are named to be added, and no others", l.Known.Zones, err)
	}
	if zones := l.Known.Types["a2-ultragpu-1g"].Zones; !slices.Contains(zones, "us-central1-c") {
		t.Errorf("got the machine in %v, want the zone that was added among them", zones)
	}
	_, err = p.look(t, wanted(t, "", "pool-zone", "us-central1-x"))
	if err == nil || !strings.Contains(err.Error(), "not an available zone") {
		t.Errorf("got %v, want an error about the zone", err)
	}
}

func TestLookErrors(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	_, err := p.look(t, wanted(t, "", "machine", "z9-standard-8"))
	if err == nil || !strings.Contains(err.Error(), "unknown machine type in us-central1") {
		t.Errorf("got %v, want that there is none", err)
	}
	l, err := p.look(t, wanted(t, "", "machine", "n1-standard-8+1xnvidia-tesla-k80"))
	must(t, err)
	if got := l.PoolZones(l.Spec.Pools[spec.ComputePool]); len(got) == 0 {
		t.Error("got no zones of a pool whose machine is nowhere, want those that it may be in: the check names them")
	}
	if zones := l.Known.Types["n1-standard-8+1xnvidia-tesla-k80"].Zones; len(zones) > 0 {
		t.Errorf("got K80 in %v, want it nowhere", zones)
	}
}

func TestAccountsOfTheUser(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, tc := range []struct{ role, email string }{
		{"default", facts.DefaultAccount(gcptest.Number)}, {"boss@x.iam.gserviceaccount.com", "boss@x.iam.gserviceaccount.com"}, {"", ""},
	} {
		l, err := p.look(t, wanted(t, "", "master-service-account", tc.role, "agent-service-account", "none"))
		must(t, err)
		if l.MasterAccount() != tc.email || l.AgentAccount() != "" {
			t.Errorf("%q: got %q and %q, want %q and none", tc.role, l.MasterAccount(), l.AgentAccount(), tc.email)
		}
	}
}

func TestImagesOfTheUser(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	const family = "projects/debian-cloud/global/images/family/debian-12"
	l, err := p.look(t, wanted(t, "", "master-image", "ours", "agent-image", family))
	must(t, err)
	if got := l.MasterImage(); got != "projects/"+gcptest.Project+"/global/images/ours" || l.AgentImage(l.Spec.AuxPool) != family {
		t.Errorf("got %s and %s", got, l.AgentImage(l.Spec.AuxPool))
	}
	if len(l.Known.Images) > 0 {
		t.Errorf("got %v, want no stock image asked for", l.Known.Images)
	}
}
