package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/api/orgpolicy/v2"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Constraint is the effective organization policy of one constraint.
type Constraint struct {
	Name string
	// Enforced reports whether a boolean constraint is enforced.
	Enforced bool
	// DenyAll reports whether a list constraint denies all values.
	DenyAll bool
	// Allowed lists the only permitted values, if any. Denied lists the denied values.
	Allowed, Denied []string
}

// Constraint returns the effective policy of a constraint: "compute.vmExternalIpAccess".
func (f Facts) Constraint(ctx context.Context, name string) (Constraint, error) {
	live, err := api.Do(ctx, f.Clients.OrgPolicy.Projects.Policies.GetEffectivePolicy(f.Clients.ProjectName()+"/policies/"+name))
	if err != nil {
		return Constraint{}, fmt.Errorf("read the organization policy %s: %w", name, err)
	}
	out := Constraint{Name: name}
	if live.Spec == nil {
		return out, nil
	}
	for _, r := range live.Spec.Rules {
		out.add(r)
	}
	return out, nil
}

// Constraints returns several in parallel, each with its error.
func (f Facts) Constraints(ctx context.Context, names []string) ([]Constraint, []error) {
	out, errs := make([]Constraint, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out[i], errs[i] = f.Constraint(ctx, name) })
	}
	wg.Wait()
	return out, errs
}

// add adds a rule. All rules apply together.
func (c *Constraint) add(r *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule) {
	c.Enforced = c.Enforced || r.Enforce
	c.DenyAll = c.DenyAll || r.DenyAll
	if r.Values != nil {
		c.Allowed = append(c.Allowed, r.Values.AllowedValues...)
		c.Denied = append(c.Denied, r.Values.DeniedValues...)
	}
}

// Verdict is the evaluation of a value by a constraint.
type Verdict string

// The verdicts.
const (
	Allowed   Verdict = "allowed"
	Forbidden Verdict = "forbidden"
	// Unclear means that the list contains value groups, such as "in:eu-locations", whose members
	// only Google knows.
	Unclear Verdict = "unclear"
)

// Judge evaluates a value, which may have several names.
func (c Constraint) Judge(names ...string) Verdict {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(names, strings.TrimPrefix(v, "is:")) })
	}
	switch {
	case c.DenyAll || has(c.Denied):
		return Forbidden
	case has(c.Allowed) && !hasGroups(c.Denied):
		return Allowed
	case hasGroups(c.Allowed) || hasGroups(c.Denied):
		return Unclear
	case len(c.Allowed) > 0 && !has(c.Allowed):
		return Forbidden
	}
	return Allowed
}

func hasGroups(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "in:") || strings.HasPrefix(v, "under:") })
}
