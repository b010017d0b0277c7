package gcptest

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/iam/v1"
)

// customRole is a custom role of a project. Its path is "projects/p/roles/id".
type customRole struct {
	iam.Role
	deletedAt time.Time
}

func roleActs() map[string]act {
	return map[string]act{
		"iam.projects.roles.create":   createRole,
		"iam.projects.roles.get":      getRole,
		"iam.projects.roles.list":     listRoles,
		"iam.projects.roles.patch":    patchRole,
		"iam.projects.roles.delete":   deleteRole,
		"iam.projects.roles.undelete": undeleteRole,
		"iam.roles.get":               getPredefinedRole,
	}
}

// roleID matches valid IDs of custom roles.
// https://cloud.google.com/iam/docs/creating-custom-roles#creating
var roleID = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)

// A deleted role is listed for seven days, and its ID can be reused after 37 days.
// https://cloud.google.com/iam/docs/creating-custom-roles#deleting-custom-role
const (
	shownFor = 7 * 24 * time.Hour
	keptFor  = 37 * 24 * time.Hour
)

// createRole: https://cloud.google.com/iam/docs/reference/rest/v1/projects.roles/create
func createRole(c *call) (any, error) {
	body := decode[iam.CreateRoleRequest](c)
	if !roleID.MatchString(body.RoleId) {
		return nil, invalid("The role ID %s is not valid.", body.RoleId)
	}
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	name := "projects/" + p.id + "/roles/" + body.RoleId
	if old, found := c.access.roles.get(name); found {
		if !old.Deleted {
			return nil, exists(name)
		}
		if c.now().Before(old.deletedAt.Add(keptFor)) {
			return nil, &refusal{status: 400, reason: "failedPrecondition", code: "FAILED_PRECONDITION", message: "You can't create a role with role_id (" + body.RoleId + ") where there is an existing role with that role_id in a deleted state."}
		}
		c.access.roles.remove(name)
	}
	r := &customRole{}
	if body.Role != nil {
		r.Role = *body.Role
	}
	if err := checkRole(&r.Role); err != nil {
		return nil, err
	}
	r.Name, r.Etag = name, etagOf(1)
	c.access.roles.add(name, r)
	return &r.Role, nil
}

// checkRole returns an error for permissions that are not supported in custom roles of projects.
// https://cloud.google.com/iam/docs/custom-roles-permissions-support
func checkRole(r *iam.Role) error {
	for _, p := range r.IncludedPermissions {
		if strings.HasPrefix(p, "resourcemanager.organizations.") || p == "resourcemanager.projects.list" || strings.Contains(p, "*") || strings.Count(p, ".") < 2 {
			return invalid("Permission %s is not valid.", p)
		}
	}
	return nil
}

// findRole: https://cloud.google.com/iam/docs/reference/rest/v1/projects.roles/get
func (c *call) findRole() (*customRole, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	name := "projects/" + p.id + "/roles/" + c.params["rolesId"]
	r, found := c.access.roles.get(name)
	if found && r.Deleted && c.now().After(r.deletedAt.Add(shownFor)) {
		found = false
	}
	if !found {
		return nil, refuse(404, "notFound", "The role named %s was not found.", name)
	}
	return r, nil
}

func getRole(c *call) (any, error) {
	r, err := c.findRole()
	if err != nil {
		return nil, err
	}
	return &r.Role, nil
}

// listRoles returns permissions only in the full view, and deleted roles only on request.
func listRoles(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	var items []any
	for _, r := range c.access.roles.listed("projects/"+p.id+"/", c.behind()) {
		if r.v.Deleted && (c.query.Get("showDeleted") != "true" || c.now().After(r.v.deletedAt.Add(shownFor))) {
			continue
		}
		role := clone(&r.v.Role)
		if c.query.Get("view") != "FULL" {
			role.IncludedPermissions = nil
		}
		items = append(items, role)
	}
	return c.namedPage("roles", items)
}

func patchRole(c *call) (any, error) {
	r, err := c.findRole()
	if err != nil {
		return nil, err
	}
	body := decode[iam.Role](c)
	if err := checkEtag(body.Etag, r.Etag); err != nil {
		return nil, err
	}
	if r.Deleted {
		return nil, failedPrecondition("You can't update role " + r.Name + " because it is deleted.")
	}
	if err := checkRole(body); err != nil {
		return nil, err
	}
	next := maskedCopy(&r.Role, body, c.query.Get("updateMask"))
	next.Name, next.Etag = r.Name, nextEtag(r.Etag)
	r.Role = *next
	return &r.Role, nil
}

// deleteRole marks the role as deleted: its bindings remain and have no effect.
func deleteRole(c *call) (any, error) {
	r, err := c.findRole()
	if err != nil {
		return nil, err
	}
	if err := checkEtag(c.query.Get("etag"), r.Etag); err != nil {
		return nil, err
	}
	if r.Deleted {
		return nil, failedPrecondition("Role " + r.Name + " is deleted already.")
	}
	r.Deleted, r.deletedAt, r.Etag = true, c.now(), nextEtag(r.Etag)
	return &r.Role, nil
}

func undeleteRole(c *call) (any, error) {
	r, err := c.findRole()
	if err != nil {
		return nil, err
	}
	if err := checkEtag(decode[iam.UndeleteRoleRequest](c).Etag, r.Etag); err != nil {
		return nil, err
	}
	if !r.Deleted {
		return nil, failedPrecondition("Role " + r.Name + " is not deleted.")
	}
	r.Deleted, r.Etag = false, nextEtag(r.Etag)
	return &r.Role, nil
}

// getPredefinedRole: https://cloud.google.com/iam/docs/reference/rest/v1/roles/get
func getPredefinedRole(c *call) (any, error) {
	name := "roles/" + c.params["rolesId"]
	patterns, found := predefinedRoles()[name]
	if !found {
		return nil, refuse(404, "notFound", "The role named %s was not found.", name)
	}
	var permissions []string
	for _, p := range patterns {
		if !strings.Contains(p, "*") {
			permissions = append(permissions, p)
		}
	}
	return &iam.Role{Name: name, Title: name, Stage: "GA", IncludedPermissions: permissions, Etag: etagOf(1)}, nil
}

func (c *call) roleExists(role string) bool {
	if _, found := predefinedRoles()[role]; found {
		return true
	}
	r, found := c.access.roles.get(role)
	return found && !r.Deleted
}

// roleHas reports whether a role contains a permission.
func (w *World) roleHas(role, permission string) bool {
	if r, found := w.access.roles.get(role); found {
		return !r.Deleted && slices.Contains(r.IncludedPermissions, permission)
	}
	return slices.ContainsFunc(predefinedRoles()[role], func(p string) bool {
		ok, err := path.Match(p, permission)
		return ok && err == nil
	})
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}
