package installer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// Health lists every cause of a degraded state, including the steps that `up` refuses.
func TestHealthListsDifferences(t *testing.T) {
	t.Parallel()
	h := installer.Health{State: installer.Running}
	h.AddSteps(plan.Plan{Steps: []plan.Step{
		{ID: "aws/vpc/main", Verb: plan.Keep, Reason: "is as wanted"},
		{ID: "aws/volume/data", Verb: plan.Refuse, Reason: "cannot be changed", Diff: []resource.Drift{{Path: "size", Have: "200", Want: "100"}}},
		{ID: "aws/address/master", Verb: plan.Create, Reason: "does not exist"},
	}}, "run up")
	h.Add("the master does not answer from here", "not shown: the first remedy counts")
	want := installer.Health{
		State: installer.Degraded, Try: "run up",
		Wrong: []string{"aws/volume/data cannot be changed; size: 200", "aws/address/master does not exist", "the master does not answer from here"},
	}
	if d := cmp.Diff(h, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
