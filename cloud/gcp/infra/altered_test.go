package infra_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/secretmanager/v1"
	storageapi "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// immutable lists the fields that nobody can change at Google, and texts without an effect.
var immutable = map[string][]string{
	"compute.networks.insert":               {"name", "description"},
	"compute.subnetworks.insert":            {"name", "description"},
	"compute.firewalls.insert":              {"name", "direction"},
	"compute.routers.insert":                {"name"},
	"compute.addresses.insert":              {"name", "addressType"},
	"compute.disks.insert":                  {"name", "description"},
	"compute.instances.insert":              {"name", "description", "metadata"}, // the startup script has run
	"storage.buckets.insert":                {"name", "location"},
	"secretmanager.projects.secrets.create": {"replication"},
	"iam.projects.roles.create":             {"title", "description"},
}

// The plan shows every manual change of an attribute that up has set.
func TestPlanShowsEveryManualChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.wish.password = "tops3cret"
		must(t, s.up(t.Context()))
		s.adopts = true
		seen := 0
		for _, c := range s.world.Creations() {
			if strings.HasPrefix(c.Op, "storage.objects.") {
				continue
			}
			for _, field := range c.Fields {
				if slices.Contains(immutable[c.Op], field) {
					continue
				}
				seen++
				restore := s.world.Alter(c.Path, field)
				if got := s.notes(t); len(got) == 0 {
					t.Errorf("%s: the plan does not show a change of %s of %s", c.Op, field, c.Path)
				}
				restore()
			}
		}
		if seen < 30 {
			t.Errorf("got %d fields, want more", seen)
		}
		s.wantNothingToDo(t)
	})
}

// notes returns the changes of the plan and the reasons of what is kept although it differs.
func (s *stage) notes(t *testing.T) []string {
	t.Helper()
	p, err := s.operator(t.Context()).Plan(t.Context())
	must(t, err)
	var out []string
	for _, step := range p.Steps {
		if step.Resource != nil && step.Reason != "is as wanted" {
			out = append(out, string(step.Verb)+" "+step.ID+": "+step.Reason)
		}
	}
	return out
}

// An object that lost its mark is taken back by a cluster that was complete, and is foreign to a new one.
func TestLostMarksAreRestored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		for _, c := range s.world.Creations() {
			for _, field := range []string{"labels", "description"} {
				if slices.Contains(c.Fields, field) && !slices.Contains(immutable[c.Op], field) {
					s.world.Alter(c.Path, field)
				}
			}
		}
		for _, step := range s.plan(t) {
			if !strings.HasPrefix(step, "create ") {
				t.Errorf("got %s, want the objects to be foreign to a new cluster", step)
			}
		}
		s.adopts = true
		for _, step := range s.plan(t) {
			if !strings.HasPrefix(step, "update ") || !strings.Contains(step, "; tags.det-deploy-cluster:") {
				t.Errorf("got %s, want the mark restored", step)
			}
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		s.adopts = false
		if d := cmp.Diff(s.live(t), whole); d != "" {
			t.Errorf("inventory: got -, want +:\n%s", d)
		}
	})
}

func TestManualChangesAreRepaired(t *testing.T) {
	role := identity.RoleID("master", []string{"compute.zones.list", "compute.instances.list"})
	for name, tc := range map[string]struct {
		change func(ctx context.Context, c api.Clients) error
		want   string
	}{
		"permissions of a role": {func(ctx context.Context, c api.Clients) error {
			in := &iam.Role{IncludedPermissions: []string{"compute.zones.list", "compute.disks.list"}}
			return api.Send(ctx, c.IAM.Projects.Roles.Patch(c.RoleName(role), in).UpdateMask("includedPermissions"))
		}, "update gcp/role/master; permissions: without compute.instances.list, with compute.disks.list → as created"},
		"a role that is disabled": {func(ctx context.Context, c api.Clients) error {
			return api.Send(ctx, c.IAM.Projects.Roles.Patch(c.RoleName(role), &iam.Role{Stage: "DISABLED"}).UpdateMask("stage"))
		}, "update gcp/role/master; stage: DISABLED → GA"},
		"the priority of a rule": {func(ctx context.Context, c api.Clients) error {
			return api.Run(ctx, c, c.Compute.Firewalls.Patch(c.Project, "det-lab-agents", &compute.Firewall{Priority: 2000}))
		}, "update gcp/firewall-rule/agents; priority: 2000 → 1000"},
		"labels of a secret": {func(ctx context.Context, c api.Clients) error {
			in := &secretmanager.Secret{Labels: map[string]string{"det-deploy-retain": "no"}}
			return api.Send(ctx, c.Secrets.Projects.Secrets.Patch(c.SecretName("det-deploy-lab-db-url"), in).UpdateMask("labels"))
		}, "update gcp/secret/db-url; tags.det-deploy-cluster:  → lab; tags.det-deploy-retain: no → yes"},
		"labels of a bucket": {func(ctx context.Context, c api.Clients) error {
			return api.Send(ctx, c.Storage.Buckets.Patch(dataBucket, &storageapi.Bucket{NullFields: []string{"Labels"}}))
		}, "update gcp/bucket/data; tags.det-deploy-cluster:  → lab"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				must(t, s.up(t.Context()))
				s.adopts = true
				must(t, tc.change(t.Context(), s.clients(t)))
				if d := cmp.Diff(s.plan(t), []string{tc.want}); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
			})
		})
	}
}
