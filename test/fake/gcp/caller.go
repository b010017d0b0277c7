package gcptest

import (
	"slices"
	"strings"
)

// Caller is the identity that makes a request.
type Caller struct {
	// Member is a member as in policies: "user:ann@example.com", "serviceAccount:…". Empty means
	// the owner.
	Member string
	// Scopes are the OAuth scopes of the caller's token: "compute", "devstorage.read_write". Empty
	// means all. An instance with the access scope "Compute Engine: Read Write" has "compute" only.
	Scopes []string
}

const scopePrefix = "https://www.googleapis.com/auth/"

// Token returns an access token for a caller. In a world for foreign clients, an unknown token
// counts as the owner's.
func (w *World) Token(c Caller) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Member == "" {
		c.Member = Owner
	}
	token := "in-memory-" + c.Member + "-" + strings.Join(c.Scopes, "-")
	w.callers[token] = &c
	return token
}

// authorize determines the caller and returns an error if it lacks permissions.
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#401-unauthorized
func (c *call) authorize() error {
	token := strings.TrimPrefix(c.request.Header.Get("Authorization"), "Bearer ")
	c.caller = c.callers[token]
	if c.caller == nil && c.opt.Foreign {
		c.caller = &Caller{Member: Owner}
	}
	if c.caller == nil {
		return refuse(401, "authError", "Request had invalid authentication credentials.")
	}
	if err := c.checkScopes(); err != nil {
		return err
	}
	p := c.projectOf()
	if err := c.checkQuotaProject(); err != nil {
		return err
	}
	if err := c.checkEnabled(p); err != nil {
		return err
	}
	if err := c.checkPerimeter(p); err != nil {
		return err
	}
	return c.checkPermissions()
}

// checkQuotaProject returns an error if the caller may not use the quota project of the call.
// https://cloud.google.com/docs/quotas/set-quota-project
func (c *call) checkQuotaProject() error {
	id := c.request.Header.Get("X-Goog-User-Project")
	const permission = "serviceusage.services.use"
	if id == "" || c.may(permission, resourceName{path: "projects/" + id}) {
		return nil
	}
	r := refuse(403, "forbidden", "Caller does not have required permission to use project %s. Grant the caller the roles/serviceusage.serviceUsageConsumer role, or a custom role with the %s permission.", id, permission)
	r.details = []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "USER_PROJECT_DENIED", "domain": "googleapis.com",
		"metadata": map[string]any{"service": c.service.Name + ".googleapis.com", "consumer": "projects/" + id},
	}}
	return r
}

// checkScopes returns an error if the token lacks the scopes of the method.
// https://cloud.google.com/docs/authentication/troubleshoot-scopes
func (c *call) checkScopes() error {
	if len(c.caller.Scopes) == 0 {
		return nil
	}
	for _, s := range c.Scopes {
		if slices.Contains(c.caller.Scopes, strings.TrimPrefix(s, scopePrefix)) || slices.Contains(c.caller.Scopes, s) {
			return nil
		}
	}
	r := refuse(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
	r.details = []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "domain": "googleapis.com",
		"metadata": map[string]any{"method": c.ID, "service": c.service.Name + ".googleapis.com"},
	}}
	return r
}

// checkEnabled returns an error if an API is not enabled in the project.
// https://cloud.google.com/service-usage/docs/troubleshooting
func (c *call) checkEnabled(p *project) error {
	api := c.service.Name + ".googleapis.com"
	if p == nil || p.isEnabled(api) {
		return nil
	}
	r := refuse(403, "accessNotConfigured", "%s has not been used in project %d before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/%s/overview?project=%d then retry.", api, p.number, api, p.number)
	r.details = []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com",
		"metadata": map[string]any{"service": api, "consumer": "projects/" + p.id},
	}}
	return r
}

// checkPerimeter returns an error if a perimeter closes an API of the project.
// https://cloud.google.com/vpc-service-controls/docs/troubleshooting
func (c *call) checkPerimeter(p *project) error {
	api := c.service.Name + ".googleapis.com"
	if p == nil || !p.enclosed[api] {
		return nil
	}
	const uid = "VQQnKfXtZ16NHnOmdJAy0E92tVT"
	r := refuse(403, "forbidden", "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: %s", uid)
	r.details = []any{map[string]any{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SECURITY_POLICY_VIOLATED", "domain": "googleapis.com",
		"metadata": map[string]any{"service": api, "uid": uid, "consumer": "projects/" + p.id},
	}}
	return r
}

// resourceName identifies the resource of a permission check: the path of its policies, and its
// name in conditions.
type resourceName struct {
	path string // "projects/p", "buckets/b"
	name string // name in conditions; if empty, the path
	kind string // "compute.googleapis.com/Instance"
}

// may reports whether the policy of a resource or of its project grants the caller a permission.
func (c *call) may(permission string, on resourceName) bool {
	if on.name == "" {
		on.name = on.path
	}
	paths := []string{on.path}
	if p := c.parentOf(on.path); p != on.path {
		paths = append(paths, p)
	}
	for _, path := range paths {
		for _, b := range c.effective(path).Bindings {
			if c.isMember(b.Members) && c.roleHas(b.Role, permission) && b.Condition.holds(on) {
				return true
			}
		}
	}
	return false
}

// parentOf returns the project of a resource.
func (c *call) parentOf(path string) string {
	if name, ok := strings.CutPrefix(path, "buckets/"); ok {
		if b, found := c.stores.buckets.get(name); found {
			for id, p := range c.projects {
				if p.number == b.ProjectNumber {
					return "projects/" + id
				}
			}
		}
		return path
	}
	parts := strings.SplitN(path, "/", 3)
	return parts[0] + "/" + parts[1]
}

func (c *call) isMember(members []string) bool {
	for _, m := range members {
		if m == c.caller.Member || m == "allUsers" || m == "allAuthenticatedUsers" {
			return true
		}
	}
	return false
}
