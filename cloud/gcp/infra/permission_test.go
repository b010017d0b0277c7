package infra_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	engine "google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/serviceusage/v1"
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

// allow restricts the installer to the given permissions.
func (s *stage) allow(t *testing.T, permissions []string) {
	t.Helper()
	must(t, api.Send(t.Context(), s.clients(t).IAM.Projects.Roles.Create(s.clients(t).ProjectName(), &iam.CreateRoleRequest{RoleId: "bobs", Role: &iam.Role{Title: "bob", Stage: "GA", IncludedPermissions: permissions}})))
	s.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/bobs", bob)
	s.caller = bob
}

// wholeLife creates, updates and deletes a cluster in every way.
func (s *stage) wholeLife(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.up,
		func(ctx context.Context) error {
			c := s.cluster(ctx, nil)
			_, err := storage.Keep(ctx, c, "us-central1-a/det-lab-data", "before-1")
			if err == nil {
				err = api.Run(ctx, c.Clients, c.Clients.Compute.Disks.Insert(c.Clients.Project, "us-central1-a", &engine.Disk{
					Name: "det-lab-copy", SourceSnapshot: "projects/" + gcptest.Project + "/global/snapshots/det-lab-before-1", Labels: c.Owned(),
				}))
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

// useByItself makes the calls of an installer apart from the plan, and repairs drift.
func (s *stage) useByItself(ctx context.Context) error {
	c := s.cluster(ctx, nil)
	for range 2 {
		in := &storageapi.Object{Bucket: dataBucket, Name: "x"}
		if _, err := c.Clients.Upload(ctx, in, strings.NewReader("x"), nil); err != nil {
			return err
		}
	}
	_, readErr := api.Read(ctx, c.Clients.Storage.Objects.Get(dataBucket, "x"))
	_, projectErr := api.Do(ctx, c.Clients.Resources.Projects.Get(c.Clients.ProjectName()))
	logErr := log.Log{ID: storage.LogID(s.id), Clients: c.Clients}.Read(ctx, log.Query{}, func(log.Line) {})
	_, secretErr := (&storage.Secret{In: c, Name: "db-url"}).Read(ctx)
	accessErr := api.Run(ctx, c.Clients, c.Clients.Compute.Subnetworks.SetPrivateIpGoogleAccess(c.Clients.Project, c.Clients.Region, "det-lab-us-central1",
		&engine.SubnetworksSetPrivateIpGoogleAccessRequest{ForceSendFields: []string{"PrivateIpGoogleAccess"}}))
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
	all := s.cluster(ctx, nil).Clients
	err := errors.Join(s.alterAccess(ctx, all), api.Run(ctx, all, all.Compute.Instances.DetachDisk(all.Project, masterZone, masterName, compute.DataDevice)))
	s.caller = bob
	if err != nil {
		return err
	}
	return s.up(ctx)
}

// alterAccess changes a role and an account by hand.
func (s *stage) alterAccess(ctx context.Context, c api.Clients) error {
	role := c.RoleName(identity.RoleID("master", append([]string{"compute.instances.list", "compute.zones.list"}, s.wish.permissions...)))
	account := c.AccountName("det-m-lab@" + c.Project + ".iam.gserviceaccount.com")
	return errors.Join(
		api.Send(ctx, c.IAM.Projects.Roles.Patch(role, &iam.Role{Stage: "DISABLED"}).UpdateMask("stage")),
		api.Send(ctx, c.IAM.Projects.ServiceAccounts.Patch(account, &iam.PatchServiceAccountRequest{ServiceAccount: &iam.ServiceAccount{DisplayName: "mine"}, UpdateMask: "displayName"})))
}

// lookAround makes the calls of an installer before planning.
func lookAround(ctx context.Context, c api.Clients) error {
	var errs [11]error
	_, errs[0] = api.Do(ctx, c.Compute.Projects.Get(c.Project))
	_, errs[1] = api.Do(ctx, c.Compute.Regions.Get(c.Project, c.Region))
	_, errs[2] = api.List(ctx, c.Compute.Regions.List(c.Project), func(p *engine.RegionList) []*engine.Region { return p.Items })
	_, errs[3] = api.List(ctx, c.Compute.Zones.List(c.Project), func(p *engine.ZoneList) []*engine.Zone { return p.Items })
	_, errs[4] = api.List(ctx, c.Compute.MachineTypes.List(c.Project, "us-central1-a"), func(p *engine.MachineTypeList) []*engine.MachineType { return p.Items })
	_, errs[5] = api.List(ctx, c.Compute.AcceleratorTypes.List(c.Project, "us-central1-a"), func(p *engine.AcceleratorTypeList) []*engine.AcceleratorType { return p.Items })
	_, errs[6] = api.List(ctx, c.Compute.Routes.List(c.Project), func(p *engine.RouteList) []*engine.Route { return p.Items })
	_, errs[7] = api.Do(ctx, c.OrgPolicy.Projects.Policies.GetEffectivePolicy(c.ProjectName()+"/policies/compute.vmExternalIpAccess"))
	_, errs[8] = api.Do(ctx, c.Usage.Services.BatchGet(c.ProjectName()).Names(c.ProjectName()+"/services/compute.googleapis.com"))
	errs[9] = api.Send(ctx, c.Usage.Services.BatchEnable(c.ProjectName(), &serviceusage.BatchEnableServicesRequest{ServiceIds: []string{"compute.googleapis.com"}}))
	_, errs[10] = api.Do(ctx, c.Compute.Images.Get(gcptest.Project, "theirs"))
	if cloud.KindOf(errs[10]) == cloud.NotFound {
		_, errs[10] = api.Do(ctx, c.Compute.Images.GetFromFamily(gcptest.Project, "theirs"))
	}
	if cloud.KindOf(errs[10]) == cloud.NotFound {
		errs[10] = nil
	}
	return errors.Join(errs[:]...)
}

func TestInstallerPermissionsSuffice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.allow(t, identity.InstallerPermissions())
		must(t, s.wholeLife(t.Context()))
	})
}

// notAsked returns permissions that the fake Google Cloud does not require, because its images are
// public.
func notAsked() []string {
	return []string{"compute.images.useReadOnly"}
}

// Without any one of the permissions, a call fails and its error names the missing permission.
func TestInstallerPermissionsAreNecessary(t *testing.T) {
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
					t.Errorf("got %v, want an error with %s", err, p)
				}
			})
		})
	}
}

// Machines may write logs and metrics; installers may write neither.
func TestReportPermissions(t *testing.T) {
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

// A master may launch and delete the instances of its cluster, and no others.
func TestMasterPermissions(t *testing.T) {
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
