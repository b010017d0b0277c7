package gcptest_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const parent = "projects/" + project

func (c clients) account(t *testing.T, id string) string {
	t.Helper()
	a := made[*iam.ServiceAccount](t)(c.iam.Projects.ServiceAccounts.Create(parent, &iam.CreateServiceAccountRequest{AccountId: id, ServiceAccount: &iam.ServiceAccount{Description: "det-deploy-cluster=lab"}}).Do())
	return a.Email
}

// bind adds a binding to the project's policy.
func (c clients) bind(t *testing.T, b *cloudresourcemanager.Binding) error {
	t.Helper()
	p := made[*cloudresourcemanager.Policy](t)(c.manager.Projects.GetIamPolicy(parent, &cloudresourcemanager.GetIamPolicyRequest{Options: &cloudresourcemanager.GetPolicyOptions{RequestedPolicyVersion: 3}}).Do())
	p.Bindings = append(p.Bindings, b)
	p.Version = 3
	_, err := c.manager.Projects.SetIamPolicy(parent, &cloudresourcemanager.SetIamPolicyRequest{Policy: p}).Do()
	return err
}

func TestPoliciesHaveEtags(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	email := c.account(t, "det-m-lab")
	stale := made[*cloudresourcemanager.Policy](t)(c.manager.Projects.GetIamPolicy(parent, nil).Do())
	if err := c.bind(t, &cloudresourcemanager.Binding{Role: "roles/compute.admin", Members: []string{"serviceAccount:" + email}}); err != nil {
		t.Fatal(err)
	}
	_, err := c.manager.Projects.SetIamPolicy(parent, &cloudresourcemanager.SetIamPolicyRequest{Policy: stale}).Do()
	wantStatus(t, err, 409, "aborted")
	err = c.bind(t, &cloudresourcemanager.Binding{Role: "roles/nothing.atAll", Members: []string{"serviceAccount:" + email}})
	wantStatus(t, err, 400, "invalid")
	err = c.bind(t, &cloudresourcemanager.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:nobody@acme-ml.iam.gserviceaccount.com"}})
	wantStatus(t, err, 400, "invalid")
}

func TestRecreatedAccountHasNoRoles(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	email := c.account(t, "det-m-lab")
	if err := c.bind(t, &cloudresourcemanager.Binding{Role: "roles/compute.admin", Members: []string{"serviceAccount:" + email}}); err != nil {
		t.Fatal(err)
	}
	made[*iam.Empty](t)(c.iam.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Do())
	c.account(t, "det-m-lab")
	master := clientsOf(t, w, gcptest.Caller{Member: "serviceAccount:" + email})
	_, err := master.compute.Zones.List(project).Do()
	wantStatus(t, err, 403, "forbidden")
	if !slices.ContainsFunc(w.Bindings(parent), func(b string) bool { return strings.Contains(b, "deleted:serviceAccount:"+email) }) {
		t.Errorf("got %v", w.Bindings(parent))
	}
}

// New accounts and policy changes take effect with a delay.
func TestAccountsAndRolesAreEventuallyConsistent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t, gcptest.Options{NewAccount: time.Minute, PolicyLag: 30 * time.Second})
		email := c.account(t, "det-m-lab")
		b := &cloudresourcemanager.Binding{Role: "roles/compute.viewer", Members: []string{"serviceAccount:" + email}}
		wantStatus(t, c.bind(t, b), 400, "invalid")
		_, err := c.compute.Instances.Insert(project, zoneB, launch("one", func(i *compute.Instance) {
			i.ServiceAccounts = []*compute.ServiceAccount{{Email: email, Scopes: []string{compute.CloudPlatformScope}}}
		})).Do()
		wantStatus(t, err, 400, "invalid")
		pass(t, time.Minute)
		if err := c.bind(t, b); err != nil {
			t.Fatal(err)
		}
		master := clientsOf(t, w, gcptest.Caller{Member: "serviceAccount:" + email})
		_, err = master.compute.Zones.List(project).Do()
		wantStatus(t, err, 403, "forbidden")
		pass(t, 30*time.Second)
		made[*compute.ZoneList](t)(master.compute.Zones.List(project).Do())
	})
}

// A new account cannot be read for a while.
func TestNewAccountIsDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := newWorld(t, gcptest.Options{NewAccount: time.Minute})
		name := parent + "/serviceAccounts/" + c.account(t, "det-m-lab")
		_, err := c.iam.Projects.ServiceAccounts.Get(name).Do()
		wantStatus(t, err, 403, "forbidden")
		_, err = c.iam.Projects.ServiceAccounts.GetIamPolicy(name).Do()
		wantStatus(t, err, 403, "forbidden")
		pass(t, time.Minute)
		made[*iam.ServiceAccount](t)(c.iam.Projects.ServiceAccounts.Get(name).Do())
	})
}

// The ID of a deleted role remains in use: the role can be undeleted, but not created again.
func TestDeletedRoleKeepsID(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	roles := c.iam.Projects.Roles
	body := &iam.CreateRoleRequest{RoleId: "detDeployMaster_1", Role: &iam.Role{Title: "master", Stage: "GA", IncludedPermissions: []string{"compute.zones.list"}}}
	r := made[*iam.Role](t)(roles.Create(parent, body).Do())
	_, err := roles.Create(parent, body).Do()
	wantStatus(t, err, 409, "alreadyExists")
	if err := c.bind(t, &cloudresourcemanager.Binding{Role: r.Name, Members: []string{"user:ann@example.com"}}); err != nil {
		t.Fatal(err)
	}
	ann := clientsOf(t, w, gcptest.Caller{Member: "user:ann@example.com"})
	made[*compute.ZoneList](t)(ann.compute.Zones.List(project).Do())
	made[*iam.Role](t)(roles.Delete(r.Name).Do())
	_, err = ann.compute.Zones.List(project).Do()
	wantStatus(t, err, 403, "forbidden")
	_, err = roles.Create(parent, body).Do()
	wantStatus(t, err, 400, "failedPrecondition")
	if got := made[*iam.Role](t)(roles.Get(r.Name).Do()); !got.Deleted {
		t.Errorf("got %+v", got)
	}
	made[*iam.Role](t)(roles.Undelete(r.Name, &iam.UndeleteRoleRequest{}).Do())
	made[*compute.ZoneList](t)(ann.compute.Zones.List(project).Do())
	made[*iam.Role](t)(roles.Delete(r.Name).Do())
	w.Advance(8 * 24 * time.Hour)
	_, err = roles.Get(r.Name).Do()
	wantStatus(t, err, 404, "notFound")
	w.Advance(30 * 24 * time.Hour)
	made[*iam.Role](t)(roles.Create(parent, body).Do())
}

// A condition on a name permits the deletion of that instance only.
func TestConditionsNameResources(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	const ann = "user:ann@example.com"
	if err := c.bind(t, &cloudresourcemanager.Binding{
		Role: "roles/compute.admin", Members: []string{ann},
		Condition: &cloudresourcemanager.Expr{Title: "lab", Expression: `resource.type == "compute.googleapis.com/Instance" && resource.name.startsWith("projects/acme-ml/zones/us-west1-b/instances/det-lab-")`},
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"det-lab-one", "other"} {
		c.done(t)(c.compute.Instances.Insert(project, zoneB, launch(name, nil)).Do())
	}
	hers := clientsOf(t, w, gcptest.Caller{Member: ann})
	_, err := hers.compute.Instances.Delete(project, zoneB, "other").Do()
	wantStatus(t, err, 403, "forbidden")
	made[*compute.Operation](t)(hers.compute.Instances.Delete(project, zoneB, "det-lab-one").Do())
	old := made[*cloudresourcemanager.Policy](t)(c.manager.Projects.GetIamPolicy(parent, &cloudresourcemanager.GetIamPolicyRequest{}).Do())
	for _, b := range old.Bindings {
		if b.Condition != nil {
			t.Errorf("who asks for an old version sees %+v", b)
		}
	}
}

// The access scope "Compute Engine: Read Write" permits calls to Compute Engine only.
func TestScopesAreEnforced(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t, gcptest.Options{})
	m := clientsOf(t, w, gcptest.Caller{Scopes: []string{"compute"}})
	made[*compute.ZoneList](t)(m.compute.Zones.List(project).Do())
	_, err := m.storage.Buckets.List(project).Do()
	wantStatus(t, err, 403, "insufficientPermissions")
}

// The roles that Determined documents suffice to launch instances, and each is required.
func TestDocumentedRolesSufficeToLaunch(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	agents := w.GiveAccount(project, "det-agents")
	w.AddProject("net-host", 99)
	in := launch("one", func(i *compute.Instance) {
		i.ServiceAccounts = []*compute.ServiceAccount{{Email: agents, Scopes: []string{compute.CloudPlatformScope}}}
		i.NetworkInterfaces = []*compute.NetworkInterface{{Subnetwork: "projects/net-host/regions/" + region + "/subnetworks/default"}}
	})
	const ann = "user:ann@example.com"
	hers := clientsOf(t, w, gcptest.Caller{Member: ann})
	for _, grant := range [][2]string{{parent, "roles/compute.admin"}, {parent + "/serviceAccounts/" + agents, "roles/iam.serviceAccountUser"}, {"projects/net-host", "roles/compute.networkUser"}} {
		_, err := hers.compute.Instances.Insert(project, zoneB, in).Do()
		wantStatus(t, err, 403, "forbidden")
		w.Bind(grant[0], grant[1], ann)
	}
	c.done(t)(hers.compute.Instances.Insert(project, zoneB, in).Do())
	got := made[*cloudresourcemanager.TestIamPermissionsResponse](t)(hers.manager.Projects.TestIamPermissions(parent, &cloudresourcemanager.TestIamPermissionsRequest{Permissions: []string{"compute.instances.create", "storage.buckets.create"}}).Do())
	if !slices.Equal(got.Permissions, []string{"compute.instances.create"}) {
		t.Errorf("got %v", got.Permissions)
	}
}

func TestBucketPolicies(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.bucket(t, "data")
	p := made[*storage.Policy](t)(c.storage.Buckets.GetIamPolicy("data").OptionsRequestedPolicyVersion(3).Do())
	p.Bindings = append(p.Bindings, &storage.PolicyBindings{Role: "roles/storage.objectViewer", Members: []string{"user:ann@example.com"}})
	made[*storage.Policy](t)(c.storage.Buckets.SetIamPolicy("data", p).Do())
	_, err := c.storage.Buckets.SetIamPolicy("data", p).Do()
	wantStatus(t, err, 412, "conditionNotMet")
	made[*storage.Object](t)(c.write(t.Context(), "data", "a", "a", -1))
	ann := clientsOf(t, w, gcptest.Caller{Member: "user:ann@example.com"})
	if got := ann.read(t, "data", "a"); got != "a" {
		t.Errorf("got %q", got)
	}
	_, err = ann.write(t.Context(), "data", "b", "b", -1)
	wantStatus(t, err, 403, "forbidden")
	got := made[*storage.TestIamPermissionsResponse](t)(ann.storage.Buckets.TestIamPermissions("data", []string{"storage.objects.get", "storage.objects.create"}).Do())
	if !slices.Equal(got.Permissions, []string{"storage.objects.get"}) {
		t.Errorf("got %v", got.Permissions)
	}
}

func TestQuotaProjectRequiresPermission(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t, gcptest.Options{})
	w.Bind(parent, "roles/compute.viewer", "user:bob@example.com")
	zones := func() error {
		s := made[*compute.Service](t)(compute.NewService(t.Context(), option.WithHTTPClient(w.Client("user:bob@example.com"))))
		_, err := s.Zones.List(project).Do()
		return err
	}
	wantStatus(t, zones(), 403, "forbidden")
	w.Bind(parent, "roles/serviceusage.serviceUsageConsumer", "user:bob@example.com")
	if err := zones(); err != nil {
		t.Error(err)
	}
}
