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

// Granted is what policies say of an action on a resource by who gives some tags:
// whether it is allowed, and which conditions could not be judged.
type Granted func(action, resource string, tags map[string]string) (allowed bool, missing []string)

// Grant has simulations and dry runs, besides what Deny says, judged by g.
func (w *World) Grant(g Granted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.granted = g
}

// grants judges dry runs, as of something in the region that is about to be made.
func (s *site) grants(action string, in any) bool {
	if s.granted == nil || !asksOnly(in) {
		return true
	}
	allowed, _ := s.granted(action, "arn:aws:ec2:"+s.region+":"+Account+":any/*", marksIn(in))
	return allowed
}

// marksIn is the tags that an input gives; inputs have only their field names in
// common.
func marksIn(in any) map[string]string {
	out := make(map[string]string)
	f := reflect.Indirect(reflect.ValueOf(in)).FieldByName("TagSpecifications")
	if !f.IsValid() {
		return out
	}
	specs, _ := f.Interface().([]ec2types.TagSpecification) // not those: no tags
	for _, s := range specs {
		for _, t := range s.Tags {
			out[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return out
}

// simulate answers for a role from its policies, and for others from what Deny and
// Grant were told. Without resources it is
// about all of them at once, which a policy for some does not allow.
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
			if granted := s.judgeOf(aws.ToString(in.PolicySourceArn)); granted != nil {
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
