package gcp_test

import (
	"slices"
	"testing"

	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// allow makes the caller a user who has only the role that `gcp policy` prints, plus permissions in
// the project that shares its network.
func (s *stage) allow(t *testing.T, permissions []string) {
	t.Helper()
	const bob = "user:bob@example.com"
	for project, permissions := range map[string][]string{
		gcptest.Project: permissions,
		"net-host":      slices.Concat(permissions, []string{"compute.subnetworks.getIamPolicy", "compute.subnetworks.setIamPolicy"}),
	} {
		if project != gcptest.Project && s.Settings["host-project"] != project {
			continue
		}
		role := &iam.CreateRoleRequest{RoleId: "installers", Role: &iam.Role{Title: "installer", Stage: "GA", IncludedPermissions: permissions}}
		c := clientsOf(s.world, nil)
		c = c.In(project)
		must(t, api.Send(t.Context(), c.IAM.Projects.Roles.Create(c.ProjectName(), role)))
		s.world.Bind("projects/"+project, "projects/"+project+"/roles/installers", bob)
	}
	s.caller = bob
}

// The role that `gcp policy` prints suffices to create, change and delete a cluster in each layout.
func TestInstallerRoleSuffices(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, _ := l.prepared(t, gcptest.Options{})
				s.allow(t, identity.InstallerPermissions())
				before := s.world.Live()
				must(t, s.Up(t.Context()))
				s.Set(l.change...)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
				_, err := s.Down(t.Context(), true)
				must(t, err)
				s.wantLeft(t, before...)
			})
		})
	}
}
