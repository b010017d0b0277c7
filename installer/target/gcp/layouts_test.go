package gcp_test

import (
	"testing"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// variant is a configuration of a cluster and its project.
type variant struct {
	name string
	// prepare creates the user's resources and returns the flags that name them.
	prepare func(t *testing.T, w *gcptest.World) []string
	// change lists the flags of a later `up`.
	change []string
}

func layouts() []variant {
	return []variant{
		{"default", nothing, []string{"max-agents", "9", "inbound-cidr", "198.51.100.0/24,203.0.113.0/24", "label", "team=ml"}},
		{"agents behind NAT", behindNAT, []string{"ssh", "true", "network-tag", "office"}},
		{"existing network", existing, []string{"aux-machine", "n2-standard-4", "data-disk-size", "200"}},
		{"shared network", shared, []string{"max-agents", "9"}},
		{"spot pools", spotPools, []string{"machine", "g2-standard-4,n1-standard-8+1xnvidia-tesla-t4,n1-standard-8+1xnvidia-tesla-v100", "keep-logs", "false"}},
		{"disk from snapshot", fromSnapshot, []string{"master-machine-type", "n2-standard-4", "db-url", "env:DB_URL"}},
		{"accounts, disk and bucket of the user's", userOwned, []string{"max-agents", "9", "data-prefix", "lab"}},
		{"default account", defaultAccount, []string{"master-service-account", ""}},
	}
}

func nothing(*testing.T, *gcptest.World) []string { return nil }

func behindNAT(*testing.T, *gcptest.World) []string {
	return []string{"agent-external-ip", "false", "nat", "true"}
}

func existing(*testing.T, *gcptest.World) []string {
	return []string{"network", "default", "subnetwork", "default"}
}

func shared(_ *testing.T, w *gcptest.World) []string {
	w.AddProject("net-host", 99)
	return []string{"host-project", "net-host", "network", "default", "subnetwork", "default", "firewall", "existing", "share-access", "true"}
}

func spotPools(*testing.T, *gcptest.World) []string {
	return []string{"spot", "true", "spot-fallback", "true", "aux-spot", "true", "machine", "g2-standard-4,n1-standard-8+1xnvidia-tesla-t4"}
}

func fromSnapshot(_ *testing.T, w *gcptest.World) []string {
	w.GiveSnapshot(gcptest.Project, "older", 100)
	return []string{"data-snapshot", "older", "data-disk-size", "120"}
}

// userOwned creates accounts for both machines; that of the master has Compute Admin.
func userOwned(t *testing.T, w *gcptest.World) []string {
	t.Helper()
	master, agent := w.GiveAccount(gcptest.Project, "boss"), w.GiveAccount(gcptest.Project, "worker")
	for _, role := range []string{"roles/compute.admin", "roles/iam.serviceAccountUser"} {
		w.Bind("projects/"+gcptest.Project, role, "serviceAccount:"+master)
	}
	w.GiveDisk(gcptest.Project, "us-central1-b", "mine", 200)
	must(t, api.Send(t.Context(), clientsOf(w, nil).Storage.Buckets.Insert(gcptest.Project, &storage.Bucket{Name: "their-checkpoints", Location: "us-central1"})))
	return []string{"master-service-account", master, "agent-service-account", agent, "data-disk", "mine", "data-bucket", "their-checkpoints"}
}

// defaultAccount uses Compute Engine's default account for the master and none for agents.
func defaultAccount(*testing.T, *gcptest.World) []string {
	return []string{"master-service-account", "default", "agent-service-account", "none"}
}

// neighbours creates foreign resources that resemble the cluster's: a machine with the label of
// agents, and those of a cluster lab-2.
func neighbours(t *testing.T, w *gcptest.World) {
	t.Helper()
	c, labels := clientsOf(w, nil), map[string]string{"det-deploy-cluster": "lab-2"}
	const mark = "det-deploy-cluster=lab-2\nof the other cluster"
	disk := func() []*compute.AttachedDisk {
		return []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}}}
	}
	nic := []*compute.NetworkInterface{{Network: "global/networks/default"}}
	for _, i := range []*compute.Instance{
		{Name: "det-lab-pet", Labels: map[string]string{"det-deploy-agents": "lab"}},
		{Name: "det-lab-2-master", Labels: labels},
	} {
		i.Disks, i.NetworkInterfaces, i.MachineType = disk(), nic, "zones/us-central1-a/machineTypes/n2-standard-2"
		must(t, api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-a", i)))
	}
	must(t, api.Run(t.Context(), c, c.Compute.Networks.Insert(c.Project, &compute.Network{Name: "det-lab-2", Description: mark, ForceSendFields: []string{"AutoCreateSubnetworks"}})))
	must(t, api.Run(t.Context(), c, c.Compute.Disks.Insert(c.Project, "us-central1-a", &compute.Disk{Name: "det-lab-2-data", SizeGb: 100, Labels: labels})))
	must(t, api.Send(t.Context(), c.Secrets.Projects.Secrets.Create(c.ProjectName(), &secretmanager.Secret{
		Labels: labels, Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}},
	}).SecretId("det-deploy-lab-2-admin-password")))
	must(t, api.Send(t.Context(), c.Storage.Buckets.Insert(c.Project, &storage.Bucket{Name: "det-deploy-lab-2-data-415104041262", Location: "us-central1", Labels: labels})))
	_, err := api.Do(t.Context(), c.IAM.Projects.ServiceAccounts.Create(c.ProjectName(), &iam.CreateServiceAccountRequest{AccountId: "det-m-lab-2", ServiceAccount: &iam.ServiceAccount{Description: mark}}))
	must(t, err)
	w.Bind("projects/"+gcptest.Project, "roles/logging.logWriter", "serviceAccount:det-m-lab-2@"+gcptest.Project+".iam.gserviceaccount.com")
}

// prepared returns a stage with the prerequisites of the variant.
func (l variant) prepared(t *testing.T, o gcptest.Options) (*stage, []string) {
	t.Helper()
	s := newStage(t, o)
	neighbours(t, s.world)
	s.Set(l.prepare(t, s.world)...)
	return s, s.world.Live()
}

func TestLifecycleOfEachLayout(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, before := l.prepared(t, gcptest.Options{IgnoreFilters: true})
				policy := s.world.Bindings("projects/" + gcptest.Project)
				must(t, s.Up(t.Context()))
				if s.Tried != 1 {
					t.Errorf("got %d tasks run to try the cluster, want 1", s.Tried)
				}
				s.WantNothingToDo(t)
				s.Set(l.change...)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
				_, err := s.Down(t.Context(), true)
				must(t, err)
				s.wantLeft(t, before...)
				s.wantPolicy(t, policy)
			})
		})
	}
}
