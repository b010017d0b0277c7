package api

import (
	"context"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Accounts are the service accounts of the project, by their e-mail address.
type Accounts struct {
	Get       func(ctx context.Context, email string) (*iam.ServiceAccount, error)
	Create    func(ctx context.Context, in *iam.CreateServiceAccountRequest) (*iam.ServiceAccount, error)
	Delete    func(ctx context.Context, email string) error
	List      func(ctx context.Context) ([]*iam.ServiceAccount, error)
	GetPolicy func(ctx context.Context, email string) (*iam.Policy, error)
	// SetPolicy is refused with a conflict unless the policy has the etag of the present one.
	SetPolicy func(ctx context.Context, email string, in *iam.Policy) error
	// TestPermissions are those of some permissions that the caller has on an account.
	TestPermissions func(ctx context.Context, email string, permissions []string) ([]string, error)
}

func newAccounts(g *gateway, s *iam.ProjectsServiceAccountsService) Accounts {
	project := "projects/" + g.project
	path := func(email string) string { return project + "/serviceAccounts/" + email }
	return Accounts{
		Get: func(ctx context.Context, email string) (*iam.ServiceAccount, error) {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.get")
			return send(ctx, c, s.Get(path(email)).Context(ctx).Do)
		},
		Create: func(ctx context.Context, in *iam.CreateServiceAccountRequest) (*iam.ServiceAccount, error) {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.create")
			return send(ctx, c, s.Create(project, in).Context(ctx).Do)
		},
		Delete: func(ctx context.Context, email string) error {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.delete")
			return done(send(ctx, c, s.Delete(path(email)).Context(ctx).Do))
		},
		List: func(ctx context.Context) ([]*iam.ServiceAccount, error) {
			return readPages(func(token string) ([]*iam.ServiceAccount, string, error) {
				ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.list")
				page, err := send(ctx, c, s.List(project).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Accounts, page.NextPageToken, nil
			})
		},
		GetPolicy: func(ctx context.Context, email string) (*iam.Policy, error) {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.getIamPolicy")
			return send(ctx, c, s.GetIamPolicy(path(email)).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do)
		},
		SetPolicy: func(ctx context.Context, email string, in *iam.Policy) error {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.setIamPolicy")
			return done(send(ctx, c, s.SetIamPolicy(path(email), &iam.SetIamPolicyRequest{Policy: in}).Context(ctx).Do))
		},
		TestPermissions: func(ctx context.Context, email string, permissions []string) ([]string, error) {
			ctx, c := g.begin(ctx, "iam.projects.serviceAccounts.testIamPermissions")
			out, err := send(ctx, c, s.TestIamPermissions(path(email), &iam.TestIamPermissionsRequest{Permissions: permissions}).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return out.Permissions, nil
		},
	}
}

// Roles are the custom roles of the project, by their ID. A role that was deleted keeps
// its ID for a week and more: it is still got, with Deleted set, and can be undeleted.
type Roles struct {
	Get      func(ctx context.Context, id string) (*iam.Role, error)
	Create   func(ctx context.Context, in *iam.CreateRoleRequest) error
	Delete   func(ctx context.Context, id string) error
	Undelete func(ctx context.Context, id string) error
	// List lists roles with their descriptions, and without those that were deleted.
	List func(ctx context.Context) ([]*iam.Role, error)
}

func newRoles(g *gateway, s *iam.ProjectsRolesService) Roles {
	project := "projects/" + g.project
	path := func(id string) string { return project + "/roles/" + id }
	return Roles{
		Get: func(ctx context.Context, id string) (*iam.Role, error) {
			ctx, c := g.begin(ctx, "iam.projects.roles.get")
			return send(ctx, c, s.Get(path(id)).Context(ctx).Do)
		},
		Create: func(ctx context.Context, in *iam.CreateRoleRequest) error {
			ctx, c := g.begin(ctx, "iam.projects.roles.create")
			return done(send(ctx, c, s.Create(project, in).Context(ctx).Do))
		},
		Delete: func(ctx context.Context, id string) error {
			ctx, c := g.begin(ctx, "iam.projects.roles.delete")
			return done(send(ctx, c, s.Delete(path(id)).Context(ctx).Do))
		},
		Undelete: func(ctx context.Context, id string) error {
			ctx, c := g.begin(ctx, "iam.projects.roles.undelete")
			return done(send(ctx, c, s.Undelete(path(id), &iam.UndeleteRoleRequest{}).Context(ctx).Do))
		},
		List: func(ctx context.Context) ([]*iam.Role, error) {
			return readPages(func(token string) ([]*iam.Role, string, error) {
				ctx, c := g.begin(ctx, "iam.projects.roles.list")
				page, err := send(ctx, c, s.List(project).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Roles, page.NextPageToken, nil
			})
		},
	}
}

// Projects is the project itself.
type Projects struct {
	// Search lists all projects that the caller may see.
	Search    func(ctx context.Context) ([]*cloudresourcemanager.Project, error)
	Get       func(ctx context.Context) (*cloudresourcemanager.Project, error)
	GetPolicy func(ctx context.Context) (*cloudresourcemanager.Policy, error)
	// SetPolicy is refused with a conflict unless the policy has the etag of the present one.
	SetPolicy func(ctx context.Context, in *cloudresourcemanager.Policy) error
	// TestPermissions are those of at most 100 permissions that the caller has in the project.
	TestPermissions func(ctx context.Context, permissions []string) ([]string, error)
}

func newProjects(g *gateway, s *cloudresourcemanager.ProjectsService) Projects {
	project := "projects/" + g.project
	return Projects{
		Search: func(ctx context.Context) ([]*cloudresourcemanager.Project, error) {
			return readPages(func(token string) ([]*cloudresourcemanager.Project, string, error) {
				ctx, c := g.begin(ctx, "cloudresourcemanager.projects.search")
				page, err := send(ctx, c, s.Search().Query("state:ACTIVE").PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Projects, page.NextPageToken, nil
			})
		},
		Get: func(ctx context.Context) (*cloudresourcemanager.Project, error) {
			ctx, c := g.begin(ctx, "cloudresourcemanager.projects.get")
			return send(ctx, c, s.Get(project).Context(ctx).Do)
		},
		GetPolicy: func(ctx context.Context) (*cloudresourcemanager.Policy, error) {
			ctx, c := g.begin(ctx, "cloudresourcemanager.projects.getIamPolicy")
			in := &cloudresourcemanager.GetIamPolicyRequest{Options: &cloudresourcemanager.GetPolicyOptions{RequestedPolicyVersion: policyVersion}}
			return send(ctx, c, s.GetIamPolicy(project, in).Context(ctx).Do)
		},
		SetPolicy: func(ctx context.Context, in *cloudresourcemanager.Policy) error {
			ctx, c := g.begin(ctx, "cloudresourcemanager.projects.setIamPolicy")
			return done(send(ctx, c, s.SetIamPolicy(project, &cloudresourcemanager.SetIamPolicyRequest{Policy: in}).Context(ctx).Do))
		},
		TestPermissions: func(ctx context.Context, permissions []string) ([]string, error) {
			ctx, c := g.begin(ctx, "cloudresourcemanager.projects.testIamPermissions")
			out, err := send(ctx, c, s.TestIamPermissions(project, &cloudresourcemanager.TestIamPermissionsRequest{Permissions: permissions}).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return out.Permissions, nil
		},
	}
}

func iamCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("iam.projects.serviceAccounts.get", "iam.serviceAccounts.get"),
		edge.Reads("iam.projects.serviceAccounts.list", "iam.serviceAccounts.list"),
		edge.Writes("iam.projects.serviceAccounts.create", "iam.serviceAccounts.create"),
		edge.Writes("iam.projects.serviceAccounts.delete", "iam.serviceAccounts.delete"),
		edge.Reads("iam.projects.serviceAccounts.getIamPolicy", "iam.serviceAccounts.getIamPolicy"),
		edge.Writes("iam.projects.serviceAccounts.setIamPolicy", "iam.serviceAccounts.setIamPolicy"),
		freeCall("iam.projects.serviceAccounts.testIamPermissions"),
		edge.Reads("iam.projects.roles.get", "iam.roles.get"),
		edge.Reads("iam.projects.roles.list", "iam.roles.list"),
		edge.Writes("iam.projects.roles.create", "iam.roles.create"),
		edge.Writes("iam.projects.roles.delete", "iam.roles.delete"),
		edge.Writes("iam.projects.roles.undelete", "iam.roles.undelete"),
	}
}

func projectCalls() edge.Calls {
	return edge.Calls{
		freeCall("cloudresourcemanager.projects.search"),
		edge.Reads("cloudresourcemanager.projects.get", "resourcemanager.projects.get"),
		edge.Reads("cloudresourcemanager.projects.getIamPolicy", "resourcemanager.projects.getIamPolicy"),
		edge.Writes("cloudresourcemanager.projects.setIamPolicy", "resourcemanager.projects.setIamPolicy"),
		freeCall("cloudresourcemanager.projects.testIamPermissions"),
	}
}
