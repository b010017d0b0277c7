package api_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
)

// prefix maps the SDK's package of a service to its prefix in IAM actions.
var prefix = map[string]string{
	"ec2": "ec2", "iam": "iam", "sts": "sts", "s3": "s3", "secretsmanager": "secretsmanager", "ssm": "ssm",
	"servicequotas": "servicequotas", "cloudwatchlogs": "logs", "cloudwatch": "cloudwatch",
}

func TestTableMatchesInterfaces(t *testing.T) {
	t.Parallel()
	var calls []string
	for _, s := range services() {
		_, name := pkg(s.Type)
		for m := range s.Type.Methods() {
			calls = append(calls, prefix[name]+":"+m.Name)
		}
	}
	edgetest.CheckListed(t, api.Calls(), calls)
}

func TestReadCallsHaveReadNames(t *testing.T) {
	t.Parallel()
	edgetest.CheckVerbs(t, api.Calls(), "Describe", "Get", "List", "Head", "Filter", "Simulate")
}

func TestHintsNameKnownCommands(t *testing.T) {
	t.Parallel()
	edgetest.CheckFixes(t, api.Table(), []string{"det-deploy aws policy", "det-deploy aws doctor"}, []string{"--region", "--profile", "--cluster-id", "--tag", "--master-image", "--agent-image"})
}
