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

const key = "arn:aws:kms:us-west-2:" + awstest.Account + ":key/0ab1"

// EC2 accepts the launch of a machine whose disk it may not encrypt and then terminates it. The
// launching role must therefore be allowed to use the account's key.
func TestMasterRoleMayUseDiskKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		if got := s.rolePolicy(t, "master"); strings.Contains(got, "kms:") {
			t.Errorf("got %s with Amazon's own key, want nothing of KMS", got)
		}
		s.world.SetDiskKey(key)
		must(t, s.Up(t.Context()))
		for _, want := range []string{"kms:CreateGrant", "kms:GenerateDataKeyWithoutPlaintext", key} {
			if got := s.rolePolicy(t, "master"); !strings.Contains(got, want) {
				t.Errorf("got %s, want %s in it", got, want)
			}
		}
		if got := s.rolePolicy(t, "agent"); strings.Contains(got, "kms:") {
			t.Errorf("got %s, want nothing of KMS for agents, which launch nothing", got)
		}
		s.WantNothingToDo(t)
	})
}

func (s *stage) rolePolicy(t *testing.T, who string) string {
	t.Helper()
	out, err := s.clients(nil).IAM.GetRolePolicy(t.Context(), &iam.GetRolePolicyInput{
		RoleName: sdk.String("det-deploy-lab-" + who), PolicyName: sdk.String("det-deploy"),
	})
	must(t, err)
	text := strings.NewReplacer("%3A", ":", "%2F", "/").Replace(sdk.ToString(out.PolicyDocument))
	return text
}

func TestLaunchingRolesMayUseTheKey(t *testing.T) {
	t.Parallel()
	scope := policy.Scope{Account: awstest.Account, Region: "us-west-2", Cluster: "lab"}
	withKey := scope
	withKey.Keys = []string{key}
	for _, tc := range []struct {
		name  string
		scope policy.Scope
		want  doctor.Answer
	}{{"without", scope, doctor.Fail}, {"with", withKey, doctor.Pass}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(inMemory(awstest.Options{}), "master-role", "theirs", "session-manager", "false")
			s.world.SetDiskKey(key)
			s.world.Grant(granted(policy.Caller(tc.scope)))
			i := s.clients(nil).IAM
			_, err := i.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: sdk.String("theirs"), AssumeRolePolicyDocument: sdk.String(trustMachines)})
			must(t, err)
			_, err = i.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: sdk.String("theirs"), PolicyName: sdk.String("p"), PolicyDocument: sdk.String(policy.Master(tc.scope).Compact())})
			must(t, err)
			all := check(t, s)
			if r := all["master's permissions"]; r.Answer != tc.want || tc.want == doctor.Fail && !strings.Contains(r.Found, "kms:CreateGrant") {
				t.Errorf("master: got %s: %s, want %s", r.Answer, r.Found, tc.want)
			}
			for _, who := range []string{"master's permissions", "permissions"} {
				for _, flag := range []string{"--kms-key " + key, "--master-role arn:aws:iam::" + awstest.Account + ":role/theirs", "--session-manager=false"} {
					if r := all[who]; tc.want == doctor.Fail && !strings.Contains(r.Fix, flag) {
						t.Errorf("%s: got fix %q, want a command with %s", who, r.Fix, flag)
					}
				}
			}
			if r := all["disk encryption"]; r.Answer != doctor.Pass || !strings.Contains(r.Found, key) {
				t.Errorf("got %s: %s, want the key named", r.Answer, r.Found)
			}
			if r := all["permissions"]; tc.want == doctor.Fail && (r.Answer != doctor.Fail || !strings.Contains(r.Found, "kms:")) {
				t.Errorf("caller: got %s: %s, want the actions on the key missed", r.Answer, r.Found)
			}
		})
	}
}
