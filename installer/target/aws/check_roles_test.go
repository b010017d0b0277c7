package aws_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/doctor"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// The role of a user is never changed, so it must already have the permissions of its machines.
func TestExistingRoleMustHavePermissions(t *testing.T) {
	t.Parallel()
	scope := policy.Scope{Account: awstest.Account, Region: "us-west-2", Cluster: "lab"}
	for _, tc := range []struct {
		name, who string
		document  *policy.Document
		want      doctor.Answer
		found     string
	}{
		{"a master without any", "master", nil, doctor.Fail, "ec2:RunInstances"},
		{"a master with an agent's", "master", ptr(policy.Agent(scope)), doctor.Fail, "ec2:TerminateInstances"},
		{"a master with its own", "master", ptr(policy.Master(scope)), doctor.Pass, "actions are allowed"},
		{"a master with those of another cluster", "master", ptr(policy.Master(policy.Scope{Account: awstest.Account, Cluster: "other"})), doctor.Fail, "s3:GetObject"},
		{"an agent without any", "agent", nil, doctor.Fail, "s3:PutObject"},
		{"an agent with its own", "agent", ptr(policy.Agent(scope)), doctor.Pass, "actions are allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(inMemory(awstest.Options{}), tc.who+"-role", "theirs")
			i := s.clients(nil).IAM
			_, err := i.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: sdk.String("theirs"), Path: sdk.String("/ml/"), AssumeRolePolicyDocument: sdk.String(trustMachines)})
			must(t, err)
			if tc.document != nil {
				_, err := i.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: sdk.String("theirs"), PolicyName: sdk.String("p"), PolicyDocument: sdk.String(tc.document.Compact())})
				must(t, err)
			}
			r := check(t, s)[tc.who+"'s permissions"]
			if r.Answer != tc.want || !strings.Contains(r.Found, tc.found) {
				t.Errorf("got %s: %s, want %s with %q", r.Answer, r.Found, tc.want, tc.found)
			}
			if tc.want == doctor.Fail && !strings.Contains(r.Fix, "det-deploy aws policy "+tc.who+" --cluster-id lab") {
				t.Errorf("got fix %q, want the command that prints the policy", r.Fix)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// trustMachines allows EC2 to assume a role.
const trustMachines = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
