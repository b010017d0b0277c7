package aws

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// Everything because of which a cluster is degraded is named, what up refuses too.
func TestStatusNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	r := statusResult{Cluster: "lab", State: installer.Running}
	r.differs(plan.Plan{Steps: []plan.Step{
		{ID: "aws/vpc/main", Verb: plan.Keep, Reason: "is as wanted"},
		{ID: "aws/volume/data", Verb: plan.Refuse, Reason: "cannot be changed", Diff: []resource.Drift{{Path: "size", Have: "200", Want: "100"}}},
		{ID: "aws/address/master", Verb: plan.Create, Reason: "does not exist"},
	}})
	r.wrong("the master does not answer from here", "never said: the first remedy counts")
	want := statusResult{
		Cluster: "lab", State: installer.Degraded, Try: "`det-deploy aws up --cluster-id lab` brings it to what it should be.",
		Wrong: []string{"aws/volume/data cannot be changed; size: 200", "aws/address/master does not exist", "the master does not answer from here"},
	}
	if d := cmp.Diff(r, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestStatusNamesTheMachine(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Steps: []plan.Step{
		{Found: resource.Found{Kind: "vpc", ID: "vpc-1", Name: "master"}},
		{Found: resource.Found{Kind: "instance", ID: "i-2", Name: "agent"}},
		{Found: resource.Found{Kind: "instance", ID: "i-1", Name: "master"}},
	}}
	r := statusResult{Cluster: "lab", Region: "us-west-2"}
	for machine, want := range map[string]string{
		masterOf(p):           "`det-deploy aws logs --cluster-id lab` shows what it does; while it boots, `aws ec2 get-console-output --latest --output text --region us-west-2 --instance-id i-1` does.",
		masterOf(plan.Plan{}): "`det-deploy aws logs --cluster-id lab` shows what it does.",
	} {
		if got := r.logs(machine); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
