package facts

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
)

// actionsPerSimulation is the number of actions per simulation call.
const actionsPerSimulation = 50

// Refused returns the actions of documents that a policy simulation denies a principal, both on all
// resources and on the resources to which `det-deploy aws policy` limits them.
func (f Facts) Refused(ctx context.Context, principal string, documents []policy.Named) ([]string, error) {
	denied, err := f.refusedOn(ctx, principal, policy.Actions(documents), nil)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		for _, s := range d.Document.Statement {
			ask := slices.DeleteFunc(slices.Clone(s.Action), func(a string) bool { return !slices.Contains(denied, a) })
			if len(ask) == 0 || slices.Contains(s.Resource, "*") || s.Effect != "Allow" {
				continue
			}
			still, err := f.refusedOn(ctx, principal, ask, s.Resource)
			if err != nil {
				return nil, err
			}
			denied = slices.DeleteFunc(denied, func(a string) bool { return slices.Contains(ask, a) && !slices.Contains(still, a) })
		}
	}
	return denied, nil
}

// refusedOn returns the actions that a policy simulation denies a principal on every given
// resource. Without resources, it simulates all resources ("*").
func (f Facts) refusedOn(ctx context.Context, principal string, actions, resources []string) ([]string, error) {
	var mu sync.Mutex // guards allowed
	allowed := map[string]bool{}
	g, ctx := errgroup.WithContext(ctx)
	for some := range slices.Chunk(actions, actionsPerSimulation) {
		g.Go(func() error {
			return f.simulate(ctx, principal, some, resources, func(action string) {
				mu.Lock()
				defer mu.Unlock()
				allowed[action] = true
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return allowed[a] }), nil
}

// simulate simulates actions and calls allow for each permitted one.
func (f Facts) simulate(ctx context.Context, principal string, actions, resources []string, allow func(action string)) error {
	p := iam.NewSimulatePrincipalPolicyPaginator(f.Clients.IAM, &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: aws.String(principal), ActionNames: actions, ResourceArns: resources,
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.EvaluationResults {
			may := mayBe(r.EvalDecision, r.MissingContextValues)
			for _, one := range r.ResourceSpecificResults {
				may = may || mayBe(one.EvalResourceDecision, one.MissingContextValues)
			}
			if may {
				allow(aws.ToString(r.EvalActionName))
			}
		}
	}
	return nil
}

// mayBe reports whether an action is allowed, or depends on conditions that a simulation cannot
// evaluate.
func mayBe(d types.PolicyEvaluationDecisionType, missing []string) bool {
	return d == types.PolicyEvaluationDecisionTypeAllowed || len(missing) > 0
}
