package infra_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// A policy that an organization attaches to every role causes no drift and does not prevent the
// role's deletion.
func TestManagedPoliciesAreIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		before := m.world.Live()
		must(t, m.up(t.Context()))
		m.settleDown()
		i := m.clients(nil).IAM
		_, err := i.AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{
			RoleName: aws.String("det-deploy-lab-agent"), PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"),
		})
		must(t, err)
		m.wantNothingToDo(t)
		must(t, m.up(t.Context()))
		out, err := i.ListAttachedRolePolicies(t.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: aws.String("det-deploy-lab-agent")})
		must(t, err)
		if len(out.AttachedPolicies) != 1 {
			t.Errorf("got %d attached policies after up, want the one", len(out.AttachedPolicies))
		}
		must(t, m.downAll(t.Context()))
		if got := m.world.Live(); len(got) != len(before) {
			t.Errorf("got %v left, want %v", got, before)
		}
	})
}
