package identity

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const (
	policyPath = "policy["
	absent     = "absent"
	asWanted   = "as configured"
	other      = "different"
)

// policyDrift compares the inline policies and reports additional ones. It ignores managed
// policies: organizations attach theirs to every role, and would attach them again.
func (r *Role) policyDrift(ctx context.Context) ([]resource.Drift, error) {
	inline, err := listInlinePolicies(ctx, r.In, r.Identity())
	if err != nil {
		return nil, err
	}
	var out []resource.Drift
	for _, n := range slices.Sorted(maps.Keys(r.Policies)) {
		have := absent
		if slices.Contains(inline, n) {
			if have, err = r.comparePolicy(ctx, n); err != nil {
				return nil, err
			}
		}
		if have != asWanted {
			out = append(out, resource.Drift{Path: policyPath + n + "]", Have: have, Want: asWanted})
		}
	}
	for _, n := range inline {
		if _, ok := r.Policies[n]; !ok {
			out = append(out, resource.Drift{Path: policyPath + n + "]", Have: "present", Want: absent})
		}
	}
	return out, nil
}

func (r *Role) comparePolicy(ctx context.Context, policy string) (string, error) {
	out, err := r.In.Clients.IAM.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: aws.String(r.Identity()), PolicyName: aws.String(policy)})
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return absent, nil
	case err != nil:
		return "", err
	case sameDocument(unescapePolicy(aws.ToString(out.PolicyDocument)), r.Policies[policy]):
		return asWanted, nil
	}
	return other, nil
}

func (r *Role) updatePolicies(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		var err error
		if n, ok := strings.CutPrefix(d.Path, policyPath); ok {
			n = strings.TrimSuffix(n, "]")
			if d.Want != absent {
				err = r.putPolicy(ctx, n)
			} else {
				_, err = r.In.Clients.IAM.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String(r.Identity()), PolicyName: aws.String(n)})
				err = infra.IgnoreMissing(err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Role) putPolicy(ctx context.Context, policy string) error {
	return r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() error {
		_, err := r.In.Clients.IAM.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
			RoleName: aws.String(r.Identity()), PolicyName: aws.String(policy), PolicyDocument: aws.String(r.Policies[policy]),
		})
		return err
	})
}

func listInlinePolicies(ctx context.Context, c *mark.Cluster, role string) ([]string, error) {
	p := iam.NewListRolePoliciesPaginator(c.Clients.IAM, &iam.ListRolePoliciesInput{RoleName: aws.String(role)})
	return mark.Pages(ctx, p, func(o *iam.ListRolePoliciesOutput) []string { return o.PolicyNames })
}

func listManagedPolicies(ctx context.Context, c *mark.Cluster, role string) ([]string, error) {
	p := iam.NewListAttachedRolePoliciesPaginator(c.Clients.IAM, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(role)})
	return mark.Pages(ctx, p, func(o *iam.ListAttachedRolePoliciesOutput) []string {
		return policyARNs(o.AttachedPolicies)
	})
}

func policyARNs(ps []types.AttachedPolicy) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = aws.ToString(p.PolicyArn)
	}
	return out
}

// sameDocument reports whether two JSON documents are equal regardless of formatting.
func sameDocument(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
