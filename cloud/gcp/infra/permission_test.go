package infra_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	engine "google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	storageapi "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/gcp/log"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

const bob = "user:bob@example.com"

// allow lets the installer do what some permissions say, and no more.
func (s *stage) allow(t *testing.T, permissions []string) {
	t.Helper()
	must(t, s.clients(t).Roles.Create(t.Context(), &iam.CreateRoleRequest{RoleId: "bobs", Role: &iam.Role{Title: "bob", Stage: "GA", IncludedPermissions: permissions}}))
	s.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/bobs", bob)
	s.caller = bob
}

// wholeLife makes, changes and removes a cluster in every way.
func (s *stage) wholeLife(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.up,
		func(ctx context.Context) error {
			c := s.cluster(ctx, nil)
			_, err := storage.Keep(ctx, c, "us-central1-a/det-lab-data", "before-1")
			if err == nil {
				err = c.Clients.Disks.Insert(ctx, "us-central1-a", &engine.Disk{
					Name: "det-lab-copy", SourceSnapshot: "projects/" + gcptest.Project + "/global/snapshots/det-lab-before-1", Labels: c.Owned(),
				})
			}
			return err
		},
		func(ctx context.Context) error {
			s.wish.labels, s.wish.inbound, s.wish.disk, s.wish.cidr = map[string]string{"team": "vision"}, "198.51.100.0/24", 200, "10.192.0.0/18"
			s.wish.natPorts, s.wish.permissions, s.wish.outside = 128, []string{"compute.instances.get"}, "database db.example.com"
			s.wish.password, s.wish.machine, s.wish.tags = "tops3cret", "n2-standard-4", []string{"office"}
			s.wish.metadata = map[string]string{"enable-oslogin": "TRUE"}
			return s.up(ctx)
		},
		s.useByItself,
		s.down, s.up, s.down, // the second time, roles are undeleted
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// useByItself reads and writes what installers do beside the plan, and repairs drift.
func (s *stage) useByItself(ctx context.Context) error {
	c := s.cluster(ctx, nil)
	for range 2 {
		in := &storageapi.Object{Bucket: dataBucket, Name: "x"}
		if _, err := c.Clients.Objects.Write(ctx, in, strings.NewReader("x"), nil); err != nil {
			return err
		}
	}
	_, readErr := c.Clients.Objects.Read(ctx, dataBucket, "x")
	_, projectErr := c.Clients.Projects.Get(ctx)
	logErr := log.Log{ID: storage.LogID(s.id), Clients: c.Clients}.Read(ctx, log.Query{}, func(log.Line) {})
	_, secretErr := (&storage.Secret{In: c, Name: "db-url"}).Read(ctx)
	accessErr := c.Clients.Subnetworks.SetPrivateAccess(ctx, "det-lab-us-central1",
		&engine.SubnetworksSetPrivateIpGoogleAccessRequest{ForceSendFields: []string{"PrivateIpGoogleAccess"}})
	if err := errors.Join(readErr, projectErr, secretErr, accessErr, logErr); err != nil {
		return err
	}
	if err := lookAround(ctx, c.Clients); err != nil {
		return err
	}
	s.caller = ""
	if err := s.writeLog(ctx); err != nil {
		return err
	}
	err := s.cluster(ctx, nil).Clients.Instances.DetachDisk(ctx, masterPath, compute.DataDevice)
	s.caller = bob
	if err != nil {
		return err
	}
	return s.up(ctx)
}

// lookAround asks what an installer asks before it plans.
func lookAround(ctx context.Context, c api.Clients) error {
	var errs [11]error
	_, errs[0] = c.Catalog.Project(ctx)
	_, errs[1] = c.Catalog.Region(ctx)
	_, errs[2] = c.Catalog.Regions(ctx)
	_, errs[3] = c.Catalog.Zones(ctx)
	_, errs[4] = c.Catalog.MachineTypes(ctx, "us-central1-a", "")
	_, errs[5] = c.Catalog.AcceleratorTypes(ctx, "us-central1-a")
	_, errs[6] = c.Catalog.Routes(ctx, "")
	_, errs[7] = c.Constraints.Get(ctx, "compute.vmExternalIpAccess")
	_, errs[8] = c.Services.Get(ctx, []string{"compute.googleapis.com"})
	errs[9] = c.Services.Enable(ctx, []string{"compute.googleapis.com"})
	_, errs[10] = c.Catalog.Image(ctx, gcptest.Project, "theirs")
	if cloud.KindOf(errs[10]) == cloud.NotFound {
		_, errs[10] = c.Catalog.ImageFamily(ctx, gcptest.Project, "theirs")
	}
	if cloud.KindOf(errs[10]) == cloud.NotFound {
		errs[10] = nil
	}
	return errors.Join(errs[:]...)
}

func TestTheInstallersPermissionsAreEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.allow(t, identity.InstallerPermissions())
		must(t, s.wholeLife(t.Context()))
	})
}

// notAsked are permissions that the Google in memory does not ask for: its images are
// public.
func notAsked() []string {
	return []string{"compute.images.useReadOnly"}
}

// Without any one of the permissions something is refused, and says which it was.
func TestEachPermissionOfTheInstallersIsNeeded(t *testing.T) {
	t.Parallel()
	for i, p := range identity.InstallerPermissions() {
		if i%faults.Stride(rest.Choose(15, 5)) != 0 || slices.Contains(notAsked(), p) {
			continue
		}
		t.Run(p, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				s.allow(t, slices.DeleteFunc(identity.InstallerPermissions(), func(q string) bool { return q == p }))
				err := s.wholeLife(t.Context())
				if err == nil || !strings.Contains(err.Error(), "'"+p+"'") {
					t.Errorf("got %v, want a refusal that names %s", err, p)
				}
			})
		})
	}
}

// Machines write what they log and how they are used, and an installer writes neither.
func TestMachinesReport(t *testing.T) {
	t.Parallel()
	report := []string{"logging.logEntries.create", "monitoring.timeSeries.create"}
	if got := identity.AgentPermissions(); !slices.Equal(got, report) {
		t.Errorf("got %v for agents, want %v", got, report)
	}
	for _, p := range report {
		if !slices.Contains(identity.MasterPermissions(), p) || slices.Contains(identity.InstallerPermissions(), p) {
			t.Errorf("%s: want it for a master and not for an installer", p)
		}
	}
}

// A master may launch and remove machines of its cluster, and no others.
func TestAMastersPermissions(t *testing.T) {
	t.Parallel()
	all := identity.MasterPermissions()
	for _, p := range []string{"iam.serviceAccounts.actAs", "compute.networks.create", "compute.firewalls.create", "resourcemanager.projects.setIamPolicy"} {
		if slices.Contains(all, p) {
			t.Errorf("got %s in the whole project", p)
		}
	}
	for _, p := range []string{"compute.instances.create", "compute.instances.delete", "compute.subnetworks.use", "compute.images.useReadOnly", "compute.disks.create"} {
		if !slices.Contains(all, p) {
			t.Errorf("got no %s: %s", p, strings.Join(all, " "))
		}
	}
}
