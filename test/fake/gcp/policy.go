package gcptest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// policy is an IAM policy, in the form common to all services.
// https://cloud.google.com/iam/docs/reference/rest/v1/Policy
type policy struct {
	Version  int        `json:"version,omitempty"`
	Bindings []*binding `json:"bindings,omitempty"`
	Etag     string     `json:"etag,omitempty"`
}

type binding struct {
	Role      string     `json:"role"`
	Members   []string   `json:"members"`
	Condition *condition `json:"condition,omitempty"`
}

type condition struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Expression  string `json:"expression"`
}

// access holds all policies and the service accounts and roles that they refer to.
type access struct {
	policies map[string]*policyHistory // by path: "projects/p", "buckets/b"
	accounts table[account]
	roles    table[customRole]
}

// policyHistory holds the versions of a policy. Earlier versions remain effective for a while.
type policyHistory struct {
	number   int64 // of the latest version; the etag is derived from it
	versions []datedPolicy
}

type datedPolicy struct {
	since  time.Time
	policy *policy
}

func newAccess(w *World) access {
	return access{policies: make(map[string]*policyHistory), accounts: newTable[account](w), roles: newTable[customRole](w)}
}

// forget deletes the policy of a deleted resource.
func (a *access) forget(path string) { delete(a.policies, path) }

func (a *access) setPolicy(w *World, path string, p *policy) {
	h := a.policies[path]
	if h == nil {
		h = &policyHistory{versions: []datedPolicy{{policy: &policy{}}}}
		a.policies[path] = h
		if p.Bindings != nil && w.changed == 0 {
			h.versions = nil // it existed before the test
		}
	}
	h.number++
	p.Etag = etagOf(h.number)
	h.versions = append(h.versions, datedPolicy{since: w.now(), policy: p})
}

// latest returns the policy as last written.
func (a *access) latest(path string) *policy {
	h := a.policies[path]
	if h == nil {
		return &policy{Etag: etagOf(0)}
	}
	return h.versions[len(h.versions)-1].policy
}

// effective returns the policy in effect, because changes are delayed.
// https://cloud.google.com/iam/docs/access-change-propagation
func (w *World) effective(path string) *policy {
	h := w.access.policies[path]
	if h == nil {
		return &policy{}
	}
	then := w.now().Add(-w.opt.PolicyLag)
	for i := len(h.versions) - 1; i > 0; i-- {
		if !h.versions[i].since.After(then) {
			return h.versions[i].policy
		}
	}
	return h.versions[0].policy
}

// readPolicy implements getIamPolicy. It omits conditions unless version 3 is requested.
// https://cloud.google.com/iam/docs/policies#specifying-version-get
func (c *call) readPolicy(path string) (any, error) {
	p := clone(c.access.latest(path))
	if c.requestedVersion() < 3 {
		for _, b := range p.Bindings {
			if b.Condition != nil {
				b.Role, b.Condition, p.Version = b.Role+"_withcond_"+hashOf(b.Condition.Expression), nil, 1
			}
		}
	}
	return p, nil
}

func (c *call) requestedVersion() int {
	var body struct {
		Options struct{ RequestedPolicyVersion int }
	}
	if len(c.body) > 0 {
		_ = json.Unmarshal(c.body, &body) // validated against its schema before
	}
	for _, name := range []string{"optionsRequestedPolicyVersion", "options.requestedPolicyVersion"} {
		if v := c.query.Get(name); v != "" {
			return int(v[0] - '0')
		}
	}
	return body.Options.RequestedPolicyVersion
}

// writePolicy implements setIamPolicy: it replaces the whole policy under the etag that was read.
// https://cloud.google.com/iam/docs/policies#etag
func (c *call) writePolicy(path string) (any, error) {
	var body struct {
		Policy *policy `json:"policy"`
	}
	if err := json.Unmarshal(c.body, &body); err != nil || body.Policy == nil {
		return nil, invalid("The policy is missing.")
	}
	return c.replacePolicy(path, body.Policy)
}

// replacePolicy: https://cloud.google.com/iam/docs/allow-policies#etag
func (c *call) replacePolicy(path string, p *policy) (any, error) {
	if p.Etag != "" && p.Etag != c.access.latest(path).Etag {
		return nil, &refusal{status: 409, reason: "aborted", code: "ABORTED", message: "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."}
	}
	if err := c.checkPolicy(p); err != nil {
		return nil, err
	}
	c.access.setPolicy(c.World, path, p)
	return p, nil
}

// checkPolicy returns an error for members and roles that do not exist, and for conditions in a
// policy of a version other than 3.
// https://cloud.google.com/iam/docs/conditions-overview#policy-versions
func (c *call) checkPolicy(p *policy) error {
	for _, b := range p.Bindings {
		if b.Condition != nil {
			if p.Version != 3 {
				return invalid("Bindings with conditions need a policy of version 3.")
			}
			if _, err := parseCondition(b.Condition.Expression); err != nil {
				return invalid("Condition %q: %v", b.Condition.Expression, err)
			}
		}
		if !c.roleExists(b.Role) {
			return invalid("Role %s is not supported for this resource.", b.Role)
		}
		for _, m := range b.Members {
			if err := c.checkMember(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMember returns an error for a service account that is unknown, deleted or not known yet. A
// deleted account that is named as "deleted:…" is accepted.
// https://cloud.google.com/iam/docs/service-accounts-create: it takes up to a minute until a new
// account can be used.
func (c *call) checkMember(m string) error {
	kind, id, ok := strings.Cut(m, ":")
	if !ok && m != "allUsers" && m != "allAuthenticatedUsers" {
		return invalid("Invalid member: %s", m)
	}
	if kind != "serviceAccount" || strings.HasSuffix(id, ".svc.id.goog") {
		return nil
	}
	if !c.accountKnown(id) {
		return invalid("Service account %s does not exist.", id)
	}
	return nil
}

// testPermissions returns the permissions in the body that the caller has.
// https://cloud.google.com/iam/docs/testing-permissions
func (c *call) testPermissions(on resourceName) (any, error) {
	var body struct{ Permissions []string }
	if len(c.body) > 0 {
		_ = json.Unmarshal(c.body, &body) // validated against its schema before
	}
	asked := body.Permissions
	if len(asked) == 0 {
		asked = c.query["permissions"]
	}
	var out []string
	for _, p := range asked {
		if strings.HasSuffix(p, "*") {
			return nil, invalid("Permission %s is not valid.", p)
		}
		if c.may(p, on) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	if out == nil {
		return map[string]any{}, nil
	}
	return map[string]any{"permissions": out}, nil
}
