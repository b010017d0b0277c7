package aws

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestTheConsoleIsTheMasters(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Steps: []plan.Step{
		{Found: resource.Found{Kind: "vpc", ID: "vpc-1", Name: "master"}},
		{Found: resource.Found{Kind: "instance", ID: "i-2", Name: "agent"}},
		{Found: resource.Found{Kind: "instance", ID: "i-1", Name: "master"}},
	}}
	want := "aws ec2 get-console-output --latest --output text --region us-west-2 --instance-id i-1"
	if got := consoleIn("us-west-2")(p); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := consoleIn("us-west-2")(plan.Plan{}); got != "" {
		t.Errorf("got %q without a machine, want nothing", got)
	}
}
