package infra_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	engine "google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	shared "github.com/det-deploy/det-deploy/cloud/infra"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// The location of the stage's master.
const (
	masterZone = "us-central1-a"
	masterName = "det-lab-master"
	masterPath = masterZone + "/" + masterName
)

func (s *stage) clients(t *testing.T) api.Clients {
	t.Helper()
	return s.cluster(t.Context(), nil).Clients
}

func (s *stage) master(t *testing.T) *engine.Instance {
	t.Helper()
	live, err := api.Do(t.Context(), s.clients(t).Compute.Instances.Get(gcptest.Project, masterZone, masterName))
	must(t, err)
	return live
}

func TestTheMastersMachine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.wish.labels = map[string]string{"team": "vision"}
		must(t, s.up(t.Context()))
		m := s.master(t)
		if c := m.ShieldedInstanceConfig; c == nil || !c.EnableSecureBoot || !c.EnableVtpm || !c.EnableIntegrityMonitoring {
			t.Errorf("got %+v, want a Shielded VM", c)
		}
		if !m.DeletionProtection {
			t.Error("got a machine that can be deleted by mistake")
		}
		if d := cmp.Diff(m.Labels, map[string]string{"team": "vision", "det-deploy-cluster": "lab"}); d != "" {
			t.Errorf("labels: got -, want +:\n%s", d)
		}
		data := m.Disks[1]
		if data.DeviceName != compute.DataDevice || data.AutoDelete || !strings.HasSuffix(data.Source, "/zones/us-central1-a/disks/det-lab-data") {
			t.Errorf("got %+v, want the data disk, which stays", data)
		}
		address, err := api.Do(t.Context(), s.clients(t).Compute.Addresses.Get(gcptest.Project, "us-central1", "det-lab-master"))
		must(t, err)
		if got := m.NetworkInterfaces[0].AccessConfigs[0].NatIP; got != address.Address {
			t.Errorf("got address %s, want %s", got, address.Address)
		}
		if a := m.ServiceAccounts[0]; a.Email != "det-m-lab@"+gcptest.Project+".iam.gserviceaccount.com" || a.Scopes[0] != cloudPlatform {
			t.Errorf("got %+v, want the master's account with the scope", a)
		}
		if len(m.Metadata.Items) != 1 || m.Metadata.Items[0].Key != "startup-script" || m.Tags.Items[0] != "det-lab-master" {
			t.Errorf("got metadata %+v and tags %v", m.Metadata.Items, m.Tags.Items)
		}
	})
}

// Attributes that can be changed in place are, and the instance remains.
func TestMasterInstanceIsChangedInPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, s *stage)
		want   []string
	}{
		"another type": {
			func(_ *testing.T, s *stage) { s.wish.machine = "n2-standard-4" },
			[]string{"update gcp/instance/master; type: n2-standard-2 → n2-standard-4 (stops the master for a few minutes)"},
		},
		"a larger boot disk": {
			func(_ *testing.T, s *stage) { s.wish.rootGB = 40 },
			[]string{"update gcp/instance/master; root-size: 20 GB → 40 GB"},
		},
		"a tag more": {
			func(_ *testing.T, s *stage) { s.wish.tags = []string{"office"} },
			[]string{"update gcp/instance/master; network-tags: det-lab-master → det-lab-master, office"},
		},
		"metadata": {
			func(_ *testing.T, s *stage) { s.wish.metadata = map[string]string{"enable-oslogin": "TRUE"} },
			[]string{"update gcp/instance/master; metadata.enable-oslogin:  → TRUE"},
		},
		"another account": {
			func(_ *testing.T, s *stage) { s.wish.account = compute.DefaultAccount },
			[]string{"update gcp/instance/master; account: det-m-lab@acme-ml.iam.gserviceaccount.com with cloud-platform → 415104041262-compute@developer.gserviceaccount.com with cloud-platform"},
		},
		"stopped": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Instances.Stop(c.Project, masterZone, masterName)))
			},
			[]string{"update gcp/instance/master; state: TERMINATED → RUNNING"},
		},
		"not protected": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Instances.SetDeletionProtection(c.Project, masterZone, masterName).DeletionProtection(false)))
			},
			[]string{"update gcp/instance/master; deletion-protection: off → on"},
		},
		"without its data": {
			func(t *testing.T, s *stage) {
				t.Helper()
				c := s.clients(t)
				must(t, api.Run(t.Context(), c, c.Compute.Instances.DetachDisk(c.Project, masterZone, masterName, compute.DataDevice)))
			},
			[]string{"update gcp/instance/master; data-disk: none → us-central1-a/det-lab-data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				must(t, s.up(t.Context()))
				before := s.master(t).Id
				tc.change(t, s)
				if d := cmp.Diff(s.plan(t), tc.want); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
				after := s.master(t)
				if after.Id != before || after.Status != "RUNNING" || metadata(after)["startup-script"] == "" {
					t.Errorf("got %d, %s, metadata %v, want the same machine, running, with its script", after.Id, after.Status, metadata(after))
				}
			})
		})
	}
}

func metadata(m *engine.Instance) map[string]string {
	out := make(map[string]string)
	for _, item := range m.Metadata.Items {
		out[item.Key] = *item.Value
	}
	return out
}

// Other attributes require a new instance with the same data.
func TestMasterInstanceIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		must(t, s.up(t.Context()))
		before := s.master(t).Id
		disk, err := api.Do(t.Context(), s.clients(t).Compute.Disks.Get(gcptest.Project, "us-central1-a", "det-lab-data"))
		must(t, err)
		s.wish.noAddress = true
		got := s.plan(t)
		if len(got) != 1 || !strings.HasPrefix(got[0], "replace gcp/instance/master; public-ip: ") {
			t.Errorf("got %q, want the machine replaced", got)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		again, err := api.Do(t.Context(), s.clients(t).Compute.Disks.Get(gcptest.Project, "us-central1-a", "det-lab-data"))
		must(t, err)
		if s.master(t).Id == before || again.Id != disk.Id {
			t.Errorf("got machine %d and disk %d, want another machine than %d and disk %d", s.master(t).Id, again.Id, before, disk.Id)
		}
	})
}

// Data does not move to another zone by itself: no second disk is created there.
func TestDataIsNotMovedToOtherZone(t *testing.T) {
	for name, o := range map[string]gcptest.Options{"at once": {}, "slow": slow(), "filters that do not filter": {IgnoreFilters: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, o)
				must(t, s.up(t.Context()))
				s.settleDown()
				s.wish.zone = "us-central1-b"
				got := strings.Join(s.plan(t), "\n")
				if !strings.Contains(got, "refuse gcp/disk/data; zone: us-central1-a → us-central1-b") || strings.Contains(got, "create ") {
					t.Errorf("got %s, want the disk refused", got)
				}
			})
		})
	}
}

// Instances launched by a master are deleted; those of other owners remain, whatever their names.
func TestInstancesAreDeletedByLabel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{IgnoreFilters: true, Operation: 1})
		must(t, s.up(t.Context()))
		s.launch(t, "det-lab-gpu-0a1b-0", map[string]string{"det-deploy-cluster": "lab"})
		s.launch(t, "det-lab-2-gpu-0a1b-0", map[string]string{"det-deploy-cluster": "lab-2"})
		s.launch(t, "det-lab-mine", map[string]string{"managed-by": "det-lab-master"})
		if got := s.live(t); got[0] != "address/det-lab-master" || !strings.Contains(strings.Join(got, " "), "agent/det-lab-gpu-0a1b-0 ") || strings.Contains(strings.Join(got, " "), "det-lab-2") {
			t.Errorf("got %v, want the cluster's own machine in it", got)
		}
		must(t, s.down(t.Context()))
		s.settleDown()
		var left []string
		for path := range s.world.Instances() {
			left = append(left, path[strings.LastIndexByte(path, '/')+1:])
		}
		if len(left) != 2 || strings.Contains(strings.Join(left, " "), "gpu-0a1b-0 det-lab-gpu") {
			t.Errorf("got %v, want those of others", left)
		}
	})
}

func (s *stage) launch(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	c := s.clients(t)
	must(t, api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-b", &engine.Instance{
		Name: name, MachineType: "zones/us-central1-b/machineTypes/n2-standard-2", Labels: labels,
		Disks: []*engine.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &engine.AttachedDiskInitializeParams{
			SourceImage: "projects/debian-cloud/global/images/family/debian-12", Labels: labels,
		}}},
		NetworkInterfaces: []*engine.NetworkInterface{{Network: "global/networks/default"}},
	})))
}

// An instance with the master's name and without the cluster's label belongs to the user.
func TestForeignInstanceIsNotAdopted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		m := s.cluster(t.Context(), nil)
		s.launch(t, "det-lab-master", nil)
		master := &compute.Master{
			In: m, Zone: "us-central1-b", Type: "n2-standard-2", Image: "projects/debian-cloud/global/images/family/debian-12", RootGB: 20,
			Subnetwork: shared.Existing("default"),
		}
		err := shared.Named(master).Create(t.Context())
		e, ok := errors.AsType[*cloud.Error](err)
		if !ok || e.Kind != cloud.Conflict || !strings.Contains(err.Error(), "does not belong to the cluster") {
			t.Errorf("got %v, want that it is not ours", err)
		}
	})
}

// Without capacity, the operation fails, and no object remains.
func TestStockoutError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		s.wish.machine = "n2-standard-2048"
		err := s.up(t.Context())
		if cloud.KindOf(err) != cloud.NoCapacity {
			t.Errorf("got %v, want that the zone has none", err)
		}
		if got := s.world.Instances(); len(got) > 0 {
			t.Errorf("got %v, want no machine", got)
		}
		s.wish.machine = "n2-standard-2"
		must(t, s.up(t.Context()))
	})
}
