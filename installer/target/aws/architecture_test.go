package aws_test

import (
	"slices"
	"strings"
	"testing"

	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// A change of the master's architecture replaces its machine, because the image does not boot on
// the other architecture. The data volume and address are kept.
func TestChangeOfArchitectureReplacesTheMaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		s.Set("master-instance-type", "m6i.xlarge")
		if got := s.Plan(t); !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "update aws/instance/master; type: ") }) {
			t.Errorf("got %v, want the machine to be changed", got)
		}
		s.Set("master-instance-type", "m6g.large")
		if got := s.Plan(t); !slices.ContainsFunc(got, func(l string) bool {
			return strings.HasPrefix(l, "replace aws/instance/master; architecture: x86_64 → arm64")
		}) {
			t.Errorf("got %v, want the machine to be replaced", got)
		}
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		for _, i := range s.world.Instances() {
			if i.State.Name == "running" && i.InstanceType != "m6g.large" {
				t.Errorf("got a machine of type %s, want the new one alone", i.InstanceType)
			}
		}
	})
}
