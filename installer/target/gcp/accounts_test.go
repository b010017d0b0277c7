package gcp_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	engine "google.golang.org/api/compute/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// as returns clients that act as an account.
func (s *stage) as(t *testing.T, email string) api.Clients {
	t.Helper()
	c, err := api.New(t.Context(), s.world.Client("serviceAccount:"+email), api.Options{Project: gcptest.Project, Region: "us-central1"})
	must(t, err)
	return c
}

const masterEmail, agentEmail = "det-m-lab@" + gcptest.Project + ".iam.gserviceaccount.com", "det-a-lab@" + gcptest.Project + ".iam.gserviceaccount.com"

// launch launches a machine of a pool, as the master does with its master.yaml, and deletes it.
func (s *stage) launch(t *testing.T, email, pool string) error {
	t.Helper()
	m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
	must(t, err)
	for _, p := range m.ResourcePools {
		if p.Name == pool {
			return launchAndRemove(t.Context(), s.as(t, email), p.Provider.GCP)
		}
	}
	t.Fatalf("there is no pool %s", pool)
	return nil
}

func launchAndRemove(ctx context.Context, c api.Clients, p *provider.GCP) error {
	f, err := fleet.New(c, fleet.Config{
		Cluster: "lab", Pool: "p", Pair: fleet.Label{Key: p.LabelKey, Value: p.LabelValue}, MasterURL: "https://10.0.0.2:8443", Zones: p.ZoneList(),
		Image: p.BootDiskSourceImage, BootDiskGB: int64(p.BootDiskSize), BootDiskType: p.BootDiskType, StartupScript: "#!/bin/sh\n",
		Network: p.NetworkInterface.Network, Subnetwork: p.NetworkInterface.Subnetwork, ExternalIP: p.NetworkInterface.ExternalIP, Tags: p.NetworkTags,
		Account: p.ServiceAccount.Email, Scopes: p.ServiceAccount.Scopes, Spot: p.IsSpot(), BaseConfig: p.BaseConfig.JSON(), Labels: p.Labels,
	})
	if err != nil {
		return err
	}
	price := cloud.OnDemand
	if p.IsSpot() {
		price = cloud.Spot
	}
	made, err := f.Launch(ctx, cloud.Launch{Token: "t-1", Count: 1, Offer: cloud.Offer{Type: p.Machines()[0].Type().String(), Zone: p.ZoneList()[0], Price: price}})
	if err != nil {
		return err
	}
	if _, err := f.List(ctx); err != nil {
		return err
	}
	return f.Terminate(ctx, []cloud.InstanceID{made[0].ID})
}

// In each layout, the roles that `up` grants suffice for the master to launch machines of its
// pools.
func TestTheMasterLaunchesMachines(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, _ := l.prepared(t, gcptest.Options{})
				email := masterEmail
				if given := s.Settings["master-service-account"]; strings.Contains(given, "@") {
					email = given
				} else if given == "default" {
					email = "415104041262-compute@developer.gserviceaccount.com"
				}
				must(t, s.Up(t.Context()))
				for _, pool := range []string{"compute-pool", "aux-pool"} {
					must(t, s.launch(t, email, pool))
				}
			})
		})
	}
}

// The master may use the disks that base_config attaches although their names are not the
// cluster's, and no other disks.
func TestTheMasterUsesTheDisksOfItsPools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "default-compute-pool", "seed")
		s.File = seedPool
		s.world.GiveDisk(gcptest.Project, "us-central1-a", "second", 500)
		s.world.GiveImage(gcptest.Project, "agents-1", "agents", 50)
		must(t, s.Up(t.Context()))
		must(t, s.launch(t, masterEmail, "seed"))
		s.File = strings.ReplaceAll(s.File, "disks/second", "disks/third")
		s.world.GiveDisk(gcptest.Project, "us-central1-a", "third", 500)
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		must(t, s.launch(t, masterEmail, "seed"))
		for _, role := range s.world.Bindings("projects/" + gcptest.Project) {
			if strings.Contains(role, "disks/second") {
				t.Errorf("got %s, want no role on a disk that no pool has", role)
			}
		}
	})
}

// The master's machine reads the control bucket, in which it only writes its status, its secrets
// and the checkpoints. It must not read the key of the CA.
func TestMasterAccess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		neighbours(t, s.world)
		addVersion(t, s.clients(nil), "det-deploy-lab-2-admin-password")
		must(t, s.Up(t.Context()))
		boss, worker, bucket := s.as(t, masterEmail), s.as(t, agentEmail), control.Name("lab", gcptest.Number)
		write := func(c api.Clients, bucket, name string) error {
			_, err := c.Upload(t.Context(), &storage.Object{Bucket: bucket, Name: name}, bytes.NewReader([]byte("x")), nil)
			return err
		}
		read := func(c api.Clients, name string) error {
			_, err := api.Read(t.Context(), c.Storage.Objects.Get(bucket, name))
			return err
		}
		secret := func(c api.Clients, name string) error {
			_, err := api.Do(t.Context(), c.Secrets.Projects.Secrets.Versions.Access(c.SecretName(name)+"/versions/latest"))
			return err
		}
		const data = "det-deploy-lab-data-415104041262"
		entry := &logging.LogEntry{LogName: api.LogName(gcptest.Project, "det-deploy-lab"), TextPayload: "x", Resource: &logging.MonitoredResource{Type: "global"}}
		report := func(c api.Clients) error {
			return api.Send(t.Context(), c.Logging.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{entry}}))
		}
		must(t, errors.Join(
			read(boss, manifest.Key), write(boss, bucket, manifest.StatusKey), write(boss, bucket, manifest.StatusKey), write(boss, data, "a"), write(worker, data, "a"),
			secret(boss, "det-deploy-lab-admin-password"), secret(boss, "det-deploy-lab-tls-key"), report(boss), report(worker),
		))
		for name, err := range map[string]error{
			"the master writes its own manifest":         write(boss, bucket, manifest.Key),
			"the master reads the key of the CA":         secret(boss, "det-deploy-lab-tls-ca-key"),
			"the master reads what is lab-2's":           secret(boss, "det-deploy-lab-2-admin-password"),
			"an agent reads the control bucket":          read(worker, manifest.Key),
			"an agent reads a secret":                    secret(worker, "det-deploy-lab-admin-password"),
			"an agent removes a machine":                 api.Run(t.Context(), worker, worker.Compute.Instances.Delete(worker.Project, "us-central1-a", "det-lab-pet")),
			"the master removes a machine of the user's": api.Run(t.Context(), boss, boss.Compute.Instances.Delete(boss.Project, "us-central1-a", "pet")),
			"the master writes another cluster's bucket": write(boss, "det-deploy-lab-2-data-415104041262", "a"),
		} {
			if kind := cloud.KindOf(err); kind != cloud.Denied {
				t.Errorf("%s: got %v, want that it is denied", name, err)
			}
		}
	})
}

func addVersion(t *testing.T, c api.Clients, id string) {
	t.Helper()
	_, err := api.Do(t.Context(), c.Secrets.Projects.Secrets.AddVersion(c.SecretName(id), &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{Data: "eA=="}}))
	must(t, err)
}

// Buckets and secrets of the user are not changed: the master gets conditional project roles that
// are limited to them.
func TestRolesOnExistingResources(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "data-bucket", "theirs", "initial-password", "gcp-sm:their-password",
			"db-url", "gcp-sm:projects/"+gcptest.Project+"/secrets/their-database/versions/1")
		c := s.clients(nil)
		for _, name := range []string{"theirs", "theirs-too"} {
			must(t, api.Send(t.Context(), c.Storage.Buckets.Insert(c.Project, &storage.Bucket{Name: name, Location: "us-central1"})))
		}
		for _, id := range []string{"their-password", "their-password-2", "their-database"} {
			must(t, api.Send(t.Context(), c.Secrets.Projects.Secrets.Create(c.ProjectName(), &secretmanager.Secret{Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}}}).SecretId(id)))
			addVersion(t, c, id)
		}
		before := append(s.world.Bindings("buckets/theirs"), s.world.Bindings("projects/"+gcptest.Project)...)
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		boss := s.as(t, masterEmail)
		write := func(bucket string) error {
			_, err := boss.Upload(t.Context(), &storage.Object{Bucket: bucket, Name: "a"}, bytes.NewReader([]byte("x")), nil)
			return err
		}
		_, err := api.Do(t.Context(), boss.Secrets.Projects.Secrets.Versions.Access(boss.SecretName("their-password")+"/versions/latest"))
		_, databaseErr := api.Do(t.Context(), boss.Secrets.Projects.Secrets.Versions.Access(boss.SecretName("their-database")+"/versions/latest"))
		must(t, errors.Join(err, databaseErr, write("theirs")))
		_, err = api.Do(t.Context(), boss.Secrets.Projects.Secrets.Versions.Access(boss.SecretName("their-password-2")+"/versions/latest"))
		for _, err := range []error{err, write("theirs-too")} {
			if cloud.KindOf(err) != cloud.Denied {
				t.Errorf("got %v, want that it is denied", err)
			}
		}
		_, err = s.Down(t.Context(), true)
		must(t, err)
		after := append(s.world.Bindings("buckets/theirs"), s.world.Bindings("projects/"+gcptest.Project)...)
		if strings.Join(after, "\n") != strings.Join(before, "\n") {
			t.Errorf("got roles\n%v, want\n%v", after, before)
		}
	})
}

// The user must grant the master the right to launch machines with the user's account.
func TestActAsOnExistingAgentAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		worker := s.world.GiveAccount(gcptest.Project, "worker")
		s.Set("agent-service-account", worker)
		err := s.Up(t.Context())
		want := "gcloud iam service-accounts add-iam-policy-binding " + worker + " --member serviceAccount:" + masterEmail + " --role roles/iam.serviceAccountUser"
		if cloud.KindOf(err) != cloud.Denied || !strings.Contains(event.Hint(err), want) {
			t.Fatalf("got %v and the hint %q, want %q", err, event.Hint(err), want)
		}
		on := "projects/" + gcptest.Project + "/serviceAccounts/" + worker
		s.world.Bind(on, "roles/iam.serviceAccountUser", "serviceAccount:"+masterEmail)
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		must(t, s.launch(t, masterEmail, "compute-pool"))
		_, err = s.Down(t.Context(), true)
		must(t, err)
		if got := s.world.Bindings(on); len(got) != 1 {
			t.Errorf("got %v, want the role that the user gave", got)
		}
	})
}

// Compute Engine's default account with the scope that leaves the limits to its roles.
func TestTheDefaultAccountHasTheCloudPlatformScope(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{}, "master-service-account", "default")
		must(t, s.Up(t.Context()))
		live, err := api.Do(t.Context(), s.clients(nil).Compute.Instances.Get(gcptest.Project, "us-central1-a", "det-lab-master"))
		must(t, err)
		want := engine.ServiceAccount{Email: "415104041262-compute@developer.gserviceaccount.com", Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}}
		if got := live.ServiceAccounts[0]; got.Email != want.Email || strings.Join(got.Scopes, " ") != want.Scopes[0] {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
