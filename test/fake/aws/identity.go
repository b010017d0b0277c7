package awstest

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const callerARN = "arn:aws:iam::" + Account + ":user/ann"

func (s *site) getCallerIdentity(*sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: aws.String(Account), Arn: aws.String(callerARN), UserId: aws.String("AIDAANN")}, nil
}

// Granted evaluates policies for an action on a resource in a request with tags. It returns whether
// the action is allowed, and the condition keys that it could not evaluate.
type Granted func(action, resource string, tags map[string]string) (allowed bool, missing []string)

// Grant makes policy simulations and dry runs use g in addition to Deny.
func (w *World) Grant(g Granted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.granted = g
}

// grants evaluates dry runs, for a resource that is about to be created in the region.
func (s *site) grants(action string, in any) bool {
	if s.granted == nil || !isDryRun(in) {
		return true
	}
	allowed, _ := s.granted(action, "arn:aws:ec2:"+s.region+":"+Account+":any/*", tagsIn(in))
	return allowed
}

// tagsIn returns the tags in an input. It uses reflection, because the input types share no
// interface.
func tagsIn(in any) map[string]string {
	out := make(map[string]string)
	f := reflect.Indirect(reflect.ValueOf(in)).FieldByName("TagSpecifications")
	if !f.IsValid() {
		return out
	}
	specs, _ := f.Interface().([]ec2types.TagSpecification) // a field of another type has no tags
	for _, s := range specs {
		for _, t := range s.Tags {
			out[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return out
}

// simulate evaluates the policies of a role, or Deny and Grant for other principals. Without
// resources it simulates "*", which a policy restricted to some resources does not allow.
func (s *site) simulate(in *iam.SimulatePrincipalPolicyInput) (*iam.SimulatePrincipalPolicyOutput, error) {
	resources := in.ResourceArns
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	var all []types.EvaluationResult
	for _, a := range in.ActionNames {
		for _, r := range resources {
			e := types.EvaluationResult{EvalActionName: aws.String(a), EvalDecision: types.PolicyEvaluationDecisionTypeAllowed, EvalResourceName: aws.String(r)}
			allowed := true
			if granted := s.evaluatorOf(aws.ToString(in.PolicySourceArn)); granted != nil {
				allowed, e.MissingContextValues = granted(a, r, nil)
			}
			if s.isDenied(a) || !allowed {
				e.EvalDecision = types.PolicyEvaluationDecisionTypeImplicitDeny
			}
			all = append(all, e)
		}
	}
	some, next, err := page(s, all, in.Marker, in.MaxItems)
	return &iam.SimulatePrincipalPolicyOutput{EvaluationResults: some, Marker: next, IsTruncated: next != nil}, err
}
