package infra_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/cloudresourcemanager/v3"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestAccountIDsFit(t *testing.T) {
	t.Parallel()
	long := "a-cluster-whose-id-is-as-long-1"
	for id, want := range map[string]string{
		"lab": "det-m-lab", strings.Repeat("a", 24): "det-m-" + strings.Repeat("a", 24), strings.Repeat("a", 25): "",
		long: "",
	} {
		got := identity.AccountID(id, "master")
		if len(got) > 30 || strings.Contains(got, "--") || want != "" && got != want {
			t.Errorf("%s: got %q (%d characters), want %q and at most 30", id, got, len(got), want)
		}
	}
	if identity.AccountID(long, "master") == identity.AccountID(long[:30]+"2", "master") {
		t.Error("got one account for two clusters")
	}
}

// A deleted role keeps its ID, so that up after down has to undelete it.
func TestDeletedRoleIsUndeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		for range 2 {
			must(t, s.up(t.Context()))
			s.wantNothingToDo(t)
			must(t, s.down(t.Context()))
		}
		id := identity.RoleID("master", []string{"compute.zones.list", "compute.instances.list"})
		role, err := api.Do(t.Context(), s.clients(t).IAM.Projects.Roles.Get(s.clients(t).RoleName(id)))
		if err != nil || !role.Deleted {
			t.Errorf("got %+v and %v, want the role deleted and not forgotten", role, err)
		}
	})
}

// A deleted role can be undeleted for seven days; for another month its ID is unusable and skipped.
func TestUnusableRoleIDIsSkipped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		for _, want := range []string{"", "_1", "_2", ""} {
			must(t, s.up(t.Context()))
			s.wantNothingToDo(t)
			id := identity.RoleID("master", []string{"compute.zones.list", "compute.instances.list"}) + want
			role, err := api.Do(t.Context(), s.clients(t).IAM.Projects.Roles.Get(s.clients(t).RoleName(id)))
			if err != nil || role.Deleted {
				t.Errorf("got %+v and %v, want the role %s", role, err, id)
			}
			must(t, s.down(t.Context()))
			days := time.Duration(14)
			if want == "_2" {
				days = 60
			}
			time.Sleep(days * 24 * time.Hour) //nolint:forbidigo // synctest's clock
		}
	})
}

// Bindings of others, with their conditions, are neither changed nor removed.
func TestForeignBindingsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{NewAccount: time.Minute, PolicyLag: time.Second})
		c := s.clients(t)
		policy, err := c.ProjectPolicy(t.Context())
		must(t, err)
		policy.Version = 3
		policy.Bindings = append(policy.Bindings, &cloudresourcemanager.Binding{
			Role: "roles/viewer", Members: []string{"user:ann@example.com"},
			Condition: &cloudresourcemanager.Expr{Title: "never", Expression: `resource.name.startsWith("projects/_/x")`},
		})
		must(t, api.Send(t.Context(), c.Resources.Projects.SetIamPolicy(c.ProjectName(), &cloudresourcemanager.SetIamPolicyRequest{Policy: policy})))
		before := s.everything(t)
		must(t, s.up(t.Context()))
		must(t, s.down(t.Context()))
		after, err := c.ProjectPolicy(t.Context())
		must(t, err)
		last := after.Bindings[len(after.Bindings)-1]
		if last.Condition == nil || last.Condition.Title != "never" || len(before) != len(s.everything(t)) {
			t.Errorf("got %+v, want the original policy", last)
		}
	})
}

// A role that a user granted to an account of the cluster remains as long as the account exists.
func TestUserGrantedRoleIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		c := s.clients(t)
		policy, err := c.ProjectPolicy(t.Context())
		must(t, err)
		policy.Bindings = append(policy.Bindings, &cloudresourcemanager.Binding{
			Role: "roles/viewer", Members: []string{"serviceAccount:det-a-lab@" + gcptest.Project + ".iam.gserviceaccount.com"},
		})
		must(t, api.Send(t.Context(), c.Resources.Projects.SetIamPolicy(c.ProjectName(), &cloudresourcemanager.SetIamPolicyRequest{Policy: policy})))
		s.wantNothingToDo(t)
		s.wish.permissions = []string{"compute.instances.get"}
		must(t, s.up(t.Context()))
		if !slices.ContainsFunc(s.everything(t), isViewer) {
			t.Error("after another role: got the user's taken away, want it to stay")
		}
		must(t, s.down(t.Context()))
		if slices.ContainsFunc(s.everything(t), isViewer) {
			t.Error("after down: got the user's role on an account that is gone")
		}
	})
}

func isViewer(line string) bool { return strings.HasPrefix(line, "roles/viewer ") }

// Google keeps the bindings of a deleted account as "deleted:serviceAccount:…?uid=…", and a new
// account of the same email has none of these roles.
func TestManuallyDeletedAccountIsRestored(t *testing.T) {
	for name, remade := range map[string]bool{"deleted": false, "deleted and made again": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				must(t, s.up(t.Context()))
				before := slices.Sorted(slices.Values(s.everything(t)))
				c := s.cluster(t.Context(), nil)
				account := &identity.Account{In: c, Name: "master"}
				must(t, account.Delete(t.Context()))
				if remade {
					must(t, account.Create(t.Context()))
				}
				plan := s.plan(t)
				for _, name := range []string{"master", "master-on-agent", "master-on-data", "master-on-db-url"} {
					if !slices.ContainsFunc(plan, func(line string) bool {
						return strings.HasPrefix(line, "update gcp/role-binding/"+name+"; roles: none → ")
					}) {
						t.Errorf("got %q, want role binding %s updated", plan, name)
					}
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
				if d := cmp.Diff(slices.Sorted(slices.Values(s.everything(t))), before); d != "" {
					t.Errorf("after up: got -, want +:\n%s", d)
				}
				must(t, s.down(t.Context()))
				if left := strings.Join(s.everything(t), "\n"); strings.Contains(left, account.Email()) {
					t.Errorf("after down: got\n%s\nwant nothing of %s", left, account.Email())
				}
			})
		})
	}
}
