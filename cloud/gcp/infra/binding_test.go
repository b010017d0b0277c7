package infra_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	storageapi "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const masterMember = "serviceAccount:det-m-lab@" + gcptest.Project + ".iam.gserviceaccount.com"

func TestBindings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		agent := "det-a-lab@" + gcptest.Project + ".iam.gserviceaccount.com"
		for path, want := range map[string][]string{
			"buckets/" + dataBucket: {"roles/storage.objectUser serviceAccount:" + agent, "roles/storage.objectUser " + masterMember},
			"projects/" + gcptest.Project + "/secrets/det-deploy-lab-db-url":         {"roles/secretmanager.secretAccessor " + masterMember},
			"projects/" + gcptest.Project + "/serviceAccounts/" + agent:              {"roles/iam.serviceAccountUser " + masterMember},
			"projects/" + gcptest.Project + "/secrets/det-deploy-lab-admin-password": nil,
		} {
			if d := cmp.Diff(s.world.Bindings(path), want); d != "" {
				t.Errorf("%s: got -, want +:\n%s", path, d)
			}
		}
	})
}

// A role granted with a condition applies to the cluster's instances only.
func TestConditionalRolesApplyToClusterOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.wish.permissions = []string{"compute.instances.delete", "compute.zoneOperations.get"}
		must(t, s.up(t.Context()))
		s.launch(t, "det-lab-gpu-0a1b-0", nil)
		s.launch(t, "other", nil)
		master, err := api.New(t.Context(), s.world.Client(masterMember), api.Options{Project: gcptest.Project, Region: "us-central1"})
		must(t, err)
		must(t, api.Run(t.Context(), master, master.Compute.Instances.Delete(master.Project, "us-central1-b", "det-lab-gpu-0a1b-0")))
		if err := api.Run(t.Context(), master, master.Compute.Instances.Delete(master.Project, "us-central1-b", "other")); cloud.KindOf(err) != cloud.Denied {
			t.Errorf("got %v, want that it may not", err)
		}
		if _, err := master.ListInstances(t.Context(), ""); err != nil {
			t.Errorf("got %v, want it to list all machines", err)
		}
	})
}

// Google limits conditions to twelve logical operators.
func TestConditionsAreShort(t *testing.T) {
	t.Parallel()
	s := newStage(t, gcptest.Options{})
	zones := strings.Fields("r-a r-b r-c r-d r-e r-f r-g")
	all := identity.NameConditions(s.cluster(t.Context(), nil), zones)
	var text string
	for _, c := range all {
		if n := strings.Count(c.Expression, "||") + strings.Count(c.Expression, "&&"); n > 12 {
			t.Errorf("got %d operators, want at most 12", n)
		}
		text += c.Expression
	}
	for _, z := range zones {
		if strings.Count(text, "/zones/"+z+"/") != 2 {
			t.Errorf("zone %s: got %s, want its machines and disks", z, text)
		}
	}
}

// Bindings on retained data are deleted with their service accounts, and bindings of others remain.
func TestDataBindingsAreDeletedWithAccounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		s.world.Bind("buckets/"+dataBucket, "roles/storage.objectViewer", "user:ann@example.com")
		s.world.Bind("projects/"+gcptest.Project+"/secrets/det-deploy-lab-db-url", "roles/secretmanager.secretAccessor", "user:ann@example.com")
		s.wantNothingToDo(t)
		in := s.operator(t.Context())
		p, err := in.PlanDown(t.Context(), false)
		must(t, err)
		_, err = in.Down(t.Context(), p, false)
		must(t, err)
		if d := cmp.Diff(s.world.Bindings("buckets/"+dataBucket), []string{"roles/storage.objectViewer user:ann@example.com"}); d != "" {
			t.Errorf("bucket: got -, want +:\n%s", d)
		}
		if d := cmp.Diff(s.world.Bindings("projects/"+gcptest.Project+"/secrets/det-deploy-lab-db-url"), []string{"roles/secretmanager.secretAccessor user:ann@example.com"}); d != "" {
			t.Errorf("secret: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
	})
}

// A binding that a user removed is restored, and one with a different condition is replaced.
func TestBindingsAreRepaired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		buckets := s.clients(t).Storage.Buckets
		policy, err := api.Do(t.Context(), buckets.GetIamPolicy(dataBucket).OptionsRequestedPolicyVersion(api.PolicyVersion))
		must(t, err)
		must(t, api.Send(t.Context(), buckets.SetIamPolicy(dataBucket, &storageapi.Policy{Etag: policy.Etag, ForceSendFields: []string{"Bindings"}})))
		s.wish.zones = []string{"us-central1-c"}
		var got []string
		for _, line := range s.plan(t) {
			verb, _, _ := strings.Cut(line, ";")
			got = append(got, verb)
		}
		want := []string{
			"create gcp/role-binding/agent-on-data", "create gcp/role-binding/master-on-data",
			"update gcp/role-binding/agent", "update gcp/role-binding/master",
		}
		slices.Sort(got)
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("plan: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		for _, line := range s.world.Bindings("projects/" + gcptest.Project) {
			if strings.Contains(line, masterMember) && !strings.Contains(line, "/zones/us-central1-c/") {
				t.Errorf("got %s, want the new condition alone", line)
			}
		}
	})
}

// Two clusters modify the project's policy concurrently: because of its etag, neither overwrites
// the other's change.
func TestConcurrentPolicyChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{Latency: 50 * time.Millisecond})
		var all []*stage
		for i := range 3 {
			other := newStage(t, gcptest.Options{})
			other.world, other.id = s.world, fmt.Sprintf("lab-%d", i)
			all = append(all, other)
		}
		var wg sync.WaitGroup
		for _, other := range all {
			wg.Go(func() {
				if err := other.up(t.Context()); err != nil {
					t.Errorf("%s: %v", other.id, err)
				}
			})
		}
		wg.Wait()
		conflicts := 0
		for _, call := range s.world.Journal() {
			if call.Op == "cloudresourcemanager.projects.setIamPolicy" && call.Code != "" {
				conflicts++
			}
		}
		if conflicts == 0 {
			t.Error("got no conflict: the test tries nothing")
		}
		for _, other := range all {
			other.wantNothingToDo(t)
		}
	})
}
