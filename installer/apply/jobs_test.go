package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestAReplacementDeletesInReverseBeforeItCreates(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Steps: []plan.Step{
		{Verb: plan.Keep, ID: "role"},
		{Verb: plan.Replace, ID: "net"},
		{Verb: plan.Replace, ID: "vm", Needs: []string{"net", "role"}},
		{Verb: plan.Create, ID: "address", Needs: []string{"vm"}},
		{Verb: plan.Delete, ID: "vm/old", Needs: []string{"net", "vm", "address"}},
	}}
	var got []string
	for _, j := range jobsOf(p) {
		got = append(got, string(j.verb)+" "+j.step.ID+" after "+strings.Join(j.node.Needs, ", "))
	}
	want := []string{
		"delete vm after ",
		"delete net after delete vm",
		"create net after delete net",
		"create vm after net, delete vm",
		"create address after vm",
		"delete vm/old after net, vm, address",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	got = nil
	for _, n := range Graph(p) {
		got = append(got, n.ID+" after "+strings.Join(n.Needs, ", "))
	}
	want[2], want[3] = "create net after delete net", "create vm after create net, delete vm"
	want[4], want[5] = "create address after create vm", "delete vm/old after create net, create vm, create address"
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("as events name it: got -, want +:\n%s", d)
	}
}
