package k8s

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

func TestAnUpgradeDoesNotSwallowValues(t *testing.T) {
	t.Parallel()
	differs := plan.Plan{Steps: []plan.Step{{ID: "k8s/release/lab", Verb: plan.Update}}}
	for name, tc := range map[string]struct {
		plan  plan.Plan
		given wire.K8sValues
		fails bool
		notes string
	}{
		"nothing differs":              {plan.Plan{}, wire.K8sValues{Set: []string{"masterPort=8080"}}, false, ""},
		"a value differs":              {differs, wire.K8sValues{Set: []string{"masterPort=9090"}}, true, ""},
		"values are to be forgotten":   {differs, wire.K8sValues{Reset: true}, true, ""},
		"somebody changed the objects": {differs, wire.K8sValues{}, false, "det-deploy k8s install --cluster-id lab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, notes := term.Test("", false)
			o := &wanted{Streams: s, values: values{tc.given}}
			err := o.onlyValues(tc.plan, record.Release{Version: "1.0.0"}, "--cluster-id lab")
			if (err != nil) != tc.fails || !strings.Contains(notes.String(), tc.notes) {
				t.Errorf("got %v and %q, want failure %t and %q", err, notes, tc.fails, tc.notes)
			}
		})
	}
}

func TestSecretsAreNotEchoed(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]bool{
		"masterPort=8080": false, "a=1,db.password=hunter2": true, "checkpointStorage.connection_string=x": true,
		"checkpointStorage.credential=x": true, "taskContainerDefaults.environmentVariables[0]=A=b": true,
		"db.passwordExistingSecret.name=mine": false, "broken[": true,
	} {
		if got := hides(set); got != want {
			t.Errorf("%s: got hidden %t, want %t", set, got, want)
		}
	}
}

func TestTheContextIsChosenAmongThoseThereAre(t *testing.T) {
	t.Parallel()
	f := contextField([]string{"prod", "test"}, "test")
	if f.Default != "test" || len(f.Choices) != 2 || f.Choices[1].About == "" || f.Flag != "--context" {
		t.Errorf("got %+v", f)
	}
	if f.Check(t.Context(), "prod") != nil || f.Check(t.Context(), "none") == nil {
		t.Error("got another answer than one of the contexts taken, or one of them refused")
	}
}
