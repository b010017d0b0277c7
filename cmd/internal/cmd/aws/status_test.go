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
