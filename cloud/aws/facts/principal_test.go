package facts_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// The session ARN of a single sign-on user lacks the role's path, which a policy simulation
// requires.
func TestPrincipalOfSingleSignOnHasPath(t *testing.T) {
	t.Parallel()
	f := facts.Facts{Clients: awstest.New(awstest.Options{}).Clients(nil)}
	const name, path = "AWSReservedSSO_Admin_0ab1", "/aws-reserved/sso.amazonaws.com/eu-west-1/"
	_, err := f.Clients.IAM.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String(name), Path: aws.String(path), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]string{
		"arn:aws:sts::" + awstest.Account + ":assumed-role/" + name + "/ann":             "arn:aws:iam::" + awstest.Account + ":role" + path + name,
		"arn:aws:sts::" + awstest.Account + ":assumed-role/builder/ann":                  "arn:aws:iam::" + awstest.Account + ":role/builder",
		"arn:aws:iam::" + awstest.Account + ":user/ann":                                  "arn:aws:iam::" + awstest.Account + ":user/ann",
		"arn:aws:sts::" + awstest.Account + ":assumed-role/AWSReservedSSO_Gone_0ab2/ann": "arn:aws:iam::" + awstest.Account + ":role/AWSReservedSSO_Gone_0ab2",
	} {
		if got := f.Principal(t.Context(), facts.Caller{ARN: session}); got != want {
			t.Errorf("%s: got %s, want %s", session, got, want)
		}
	}
}
