package motest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// trust allows EC2 instances, and in this emulator any caller, to assume a role.
const trust = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`

// Role creates a role with one policy, and an instance profile of the same name. It returns the
// role's ARN.
func (a *Account) Role(t testing.TB, name, policy string) string {
	t.Helper()
	c := iam.NewFromConfig(a.Config())
	role, err := c.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		t.Fatal(err)
	}
	if policy != "" {
		if _, err := c.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: aws.String("test"), PolicyDocument: &policy}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &name}); err != nil {
		t.Fatal(err)
	}
	return aws.ToString(role.Role.Arn)
}

// Assume returns the credentials of a role session, as an instance of that name gets them from its
// metadata service.
func (a *Account) Assume(t testing.TB, role, session string) aws.Credentials {
	t.Helper()
	out, err := sts.NewFromConfig(a.Config()).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &role, RoleSessionName: &session})
	if err != nil {
		t.Fatal(err)
	}
	return aws.Credentials{
		AccessKeyID: aws.ToString(out.Credentials.AccessKeyId), SecretAccessKey: aws.ToString(out.Credentials.SecretAccessKey),
		SessionToken: aws.ToString(out.Credentials.SessionToken),
	}
}
