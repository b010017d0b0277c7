package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Role is a custom role of the project. Its ID contains a hash of its permissions, so that the
// clusters of a project share it and a deleted role can be undeleted. Google permits undeleting for
// seven days; after that the ID is unusable for another month, and the next ID is used.
type Role struct {
	In *mark.Cluster
	// Name is the purpose: "master" or "agent".
	Name string
	// Permissions are the permissions of the role.
	Permissions []string

	// passed is the number of IDs that are unusable because their role was deleted.
	passed int
	infra.Learned
}

// rolePrefix is the prefix of the IDs of det-deploy's roles.
const rolePrefix = "detDeploy"

// RoleID returns the ID of a role with those permissions: "detDeployMaster_1f0c9a7b".
func RoleID(name string, permissions []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(permissions)))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return rolePrefix + strings.ToUpper(name[:1]) + name[1:] + "_" + hex.EncodeToString(sum[:8])
}

func (r *Role) roleID() string {
	id := RoleID(r.Name, r.Permissions)
	if r.passed == 0 {
		return id
	}
	return id + "_" + strconv.Itoa(r.passed)
}

// FullName returns the name of the role in policies.
func (r *Role) FullName() string { return fullRole(r.In, r.roleID()) }

func fullRole(c *mark.Cluster, id string) string {
	return "projects/" + c.Clients.Project + "/roles/" + id
}

// ID returns the resource ID "gcp/role/NAME".
func (r *Role) ID() string { return mark.ResourceID(mark.KindRole, r.Name) }

// Kind returns KindRole.
func (*Role) Kind() string { return mark.KindRole }

// Needs returns nil.
func (*Role) Needs() []string { return nil }

// Find finds the role. A deleted role counts as missing.
func (r *Role) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := r.look(ctx)
	if err != nil || live == nil {
		return resource.Found{}, nil, err
	}
	bound, err := readBound(ctx, r.In)
	if err != nil {
		return resource.Found{}, nil, err
	}
	r.Learn(r.FullName())
	return foundRole(r.roleID(), bound[r.FullName()]), r.compareLive(live), nil
}

// look finds the role by its ID, or by the next ID if that is unusable. It returns nil if there is none.
func (r *Role) look(ctx context.Context) (*iam.Role, error) {
	r.passed = 0
	var live *iam.Role
	var all []*iam.Role
	var getErr, listErr error
	var asked sync.WaitGroup
	asked.Go(func() { live, getErr = r.get(ctx) })
	asked.Go(func() {
		all, listErr = api.List(ctx, r.In.Clients.IAM.Projects.Roles.List(r.In.Clients.ProjectName()), func(p *iam.ListRolesResponse) []*iam.Role { return p.Roles })
	})
	asked.Wait()
	if cloud.KindOf(getErr) != cloud.NotFound {
		return unlessDeleted(live), getErr
	}
	for _, other := range all {
		rest, same := strings.CutPrefix(other.Name, r.FullName()+"_")
		n, notNumber := strconv.Atoi(rest)
		if same && notNumber == nil && !other.Deleted {
			r.passed = n
			live, err := r.get(ctx) // lists contain no permissions
			return unlessDeleted(live), infra.IgnoreMissing(err)
		}
	}
	return nil, listErr
}

func (r *Role) get(ctx context.Context) (*iam.Role, error) {
	return api.Do(ctx, r.In.Clients.IAM.Projects.Roles.Get(r.In.Clients.RoleName(r.roleID())))
}

func unlessDeleted(live *iam.Role) *iam.Role {
	if live == nil || live.Deleted {
		return nil
	}
	return live
}

// compareLive compares the attributes that have an effect. The ID contains the wanted permissions.
func (r *Role) compareLive(live *iam.Role) []resource.Drift {
	want := r.wantedRole()
	out := infra.Differences(infra.Changeable("stage", live.Stage, want.Stage))
	if have := differenceText(live.IncludedPermissions, want.IncludedPermissions); have != "" {
		out = append(out, infra.Changeable("permissions", have, "as created"))
	}
	return out
}

// differenceText lists the permissions that a role lacks, and those that it has in addition.
func differenceText(have, want []string) string {
	var out []string
	for _, p := range want {
		if !slices.Contains(have, p) {
			out = append(out, "without "+p)
		}
	}
	for _, p := range have {
		if !slices.Contains(want, p) {
			out = append(out, "with "+p)
		}
	}
	return strings.Join(out, ", ")
}

// Update restores the role.
func (r *Role) Update(ctx context.Context, _ []resource.Drift) error {
	return api.Send(ctx, r.In.Clients.IAM.Projects.Roles.Patch(r.In.Clients.RoleName(r.roleID()), r.wantedRole()).UpdateMask("stage,includedPermissions"))
}

func foundRole(id string, by bound) resource.Found {
	return resource.Found{Kind: mark.KindRole, ID: id, Name: id, Shared: by.others}
}

// bound records who has been granted a role: accounts of the cluster, others, or both.
type bound struct{ own, others bool }

// readBound returns the granted roles of the project.
func readBound(ctx context.Context, c *mark.Cluster) (map[string]bound, error) {
	policy, err := c.Clients.ProjectPolicy(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bound)
	for _, b := range policy.Bindings {
		by := out[b.Role]
		for _, member := range b.Members {
			if isMemberOf(c, member) {
				by.own = true
			} else {
				by.others = true
			}
		}
		out[b.Role] = by
	}
	return out, nil
}

// mostPassed is the maximum number of IDs to try. It suffices for a role that is deleted and
// created every other week for more than a year.
const mostPassed = 30

// Create creates or undeletes the role. It succeeds if another cluster has created it in the
// meantime.
func (r *Role) Create(ctx context.Context) (err error) {
	for r.passed = 0; r.passed < mostPassed; r.passed++ {
		err = r.createRole(ctx)
		if cloud.KindOf(err) != cloud.Conflict {
			break
		}
		live, lookErr := api.Do(ctx, r.In.Clients.IAM.Projects.Roles.Get(r.In.Clients.RoleName(r.roleID())))
		if cloud.KindOf(lookErr) == cloud.NotFound {
			continue // it was deleted more than seven days ago
		}
		err = lookErr
		if err == nil && live.Deleted {
			err = api.Send(ctx, r.In.Clients.IAM.Projects.Roles.Undelete(r.In.Clients.RoleName(r.roleID()), &iam.UndeleteRoleRequest{}))
		}
		break
	}
	if err == nil {
		r.Learn(r.FullName())
	}
	return err
}

func (r *Role) createRole(ctx context.Context) error {
	return api.Send(ctx, r.In.Clients.IAM.Projects.Roles.Create(r.In.Clients.ProjectName(), &iam.CreateRoleRequest{RoleId: r.roleID(), Role: r.wantedRole()}))
}

func (r *Role) wantedRole() *iam.Role {
	return &iam.Role{
		Title: "det-deploy " + r.Name, Description: "Permissions of a det-deploy " + r.Name + ". Shared by the clusters of the project.",
		IncludedPermissions: slices.Compact(slices.Sorted(slices.Values(r.Permissions))), Stage: "GA",
	}
}

// Delete deletes the role unless it is granted to an account of another cluster.
func (r *Role) Delete(ctx context.Context) error { return DeleteRole(ctx, r.In, r.roleID()) }

// DeleteRole deletes a role that is not granted to any account of the project.
func DeleteRole(ctx context.Context, c *mark.Cluster, id string) error {
	all, err := readBound(ctx, c)
	if err != nil || all[fullRole(c, id)] != (bound{}) {
		return err
	}
	live, err := api.Do(ctx, c.Clients.IAM.Projects.Roles.Get(c.Clients.RoleName(id)))
	if err != nil || live.Deleted {
		return infra.IgnoreMissing(err)
	}
	return infra.IgnoreMissing(api.Send(ctx, c.Clients.IAM.Projects.Roles.Delete(c.Clients.RoleName(id))))
}

// ListRoles returns det-deploy's roles that are granted to accounts of the cluster or to no
// account.
func ListRoles(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	who, err := readBound(ctx, c)
	if err != nil {
		return nil, err
	}
	all, err := api.List(ctx, c.Clients.IAM.Projects.Roles.List(c.Clients.ProjectName()), func(p *iam.ListRolesResponse) []*iam.Role { return p.Roles })
	var out []resource.Found
	for _, r := range all {
		id, by := r.Name[strings.LastIndexByte(r.Name, '/')+1:], who[r.Name]
		if strings.HasPrefix(id, rolePrefix) && !r.Deleted && (by.own || !by.others) {
			out = append(out, foundRole(id, by))
		}
	}
	return out, err
}
