package installer

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	data := resource.Found{Kind: "volume", ID: "vol-1", Retain: "holds the database"}
	net := resource.Found{Kind: "vpc", ID: "vpc-1"}
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  State
	}{
		{"nothing", nil, Absent},
		{"only retained objects, with nothing wanted", []plan.Step{{Verb: plan.Keep, Found: data}}, Absent},
		{"only retained objects", []plan.Step{{Verb: plan.Keep, Found: data}, {Verb: plan.Create}}, Absent},
		{"all of it", []plan.Step{{Verb: plan.Keep, Found: data}, {Verb: plan.Keep, Found: net}}, Running},
		{"some of it", []plan.Step{{Verb: plan.Keep, Found: net}, {Verb: plan.Create}}, Degraded},
		{"without a record", []plan.Step{{Verb: plan.Delete, Found: net}}, Degraded},
	} {
		if got := StateOf(plan.Plan{Steps: tc.steps}); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}
