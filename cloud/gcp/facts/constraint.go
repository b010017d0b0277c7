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

// Constraint is what an organization says about one thing.
type Constraint struct {
	Name string
	// Enforced is true for a constraint that holds or does not.
	Enforced bool
	// DenyAll is true for a list of values of which none is allowed.
	DenyAll bool
	// Allowed are the only values, where there are any; Denied are not allowed.
	Allowed, Denied []string
}

// Constraint asks what holds of a constraint: "compute.vmExternalIpAccess".
func (f Facts) Constraint(ctx context.Context, name string) (Constraint, error) {
	live, err := api.Do(ctx, f.Clients.OrgPolicy.Projects.Policies.GetEffectivePolicy(f.Clients.ProjectName()+"/policies/"+name))
	if err != nil {
		return Constraint{}, fmt.Errorf("ask what the organization says of %s: %w", name, err)
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

// Constraints asks for several side by side. Each has an answer or an error.
func (f Facts) Constraints(ctx context.Context, names []string) ([]Constraint, []error) {
	out, errs := make([]Constraint, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out[i], errs[i] = f.Constraint(ctx, name) })
	}
	wg.Wait()
	return out, errs
}

// add adds a rule. All of them hold together.
func (c *Constraint) add(r *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule) {
	c.Enforced = c.Enforced || r.Enforce
	c.DenyAll = c.DenyAll || r.DenyAll
	if r.Values != nil {
		c.Allowed = append(c.Allowed, r.Values.AllowedValues...)
		c.Denied = append(c.Denied, r.Values.DeniedValues...)
	}
}

// Verdict says whether a constraint lets something be.
type Verdict string

// The verdicts.
const (
	Allowed   Verdict = "allowed"
	Forbidden Verdict = "forbidden"
	// Unclear is for a list of groups, such as "in:eu-locations", whose members Google
	// alone knows.
	Unclear Verdict = "unclear"
)

// Judge says whether a value is allowed. It may go by several names.
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
