package awstest

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const callerARN = "arn:aws:iam::" + Account + ":user/ann"

func (s *site) getCallerIdentity(*sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: aws.String(Account), Arn: aws.String(callerARN), UserId: aws.String("AIDAANN")}, nil
}

// simulate answers from what Deny was told.
func (s *site) simulate(in *iam.SimulatePrincipalPolicyInput) (*iam.SimulatePrincipalPolicyOutput, error) {
	var all []types.EvaluationResult
	for _, a := range in.ActionNames {
		verdict := types.PolicyEvaluationDecisionTypeAllowed
		if s.isDenied(a) {
			verdict = types.PolicyEvaluationDecisionTypeImplicitDeny
		}
		all = append(all, types.EvaluationResult{EvalActionName: aws.String(a), EvalDecision: verdict, EvalResourceName: aws.String("*")})
	}
	some, next, err := page(s, all, in.Marker, in.MaxItems)
	return &iam.SimulatePrincipalPolicyOutput{EvaluationResults: some, Marker: next, IsTruncated: next != nil}, err
}
