package aws_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// Removing a zone leaves the others and their machines in place. A zone that is added again gets
// its former addresses.
func TestAddAndRemoveZones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "zone", "us-west-2a,us-west-2b", "master-zone", "us-west-2b")
		must(t, s.Up(t.Context()))
		for _, zones := range []string{"us-west-2b", "us-west-2c,us-west-2b", "us-west-2a,us-west-2b,us-west-2c"} {
			s.Set("zone", zones)
			for _, l := range s.Plan(t) {
				if strings.HasPrefix(l, "replace ") {
					t.Errorf("zones %s: got %s, want everything to stay that does", zones, l)
				}
			}
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
		}
	})
}

// The order of zones is recovered from the addresses of their subnets.
func TestRecoverOrderOfZones(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "zone", "us-west-2a,us-west-2b,us-west-2c", "master-zone", "us-west-2b")
		must(t, s.Up(t.Context()))
		s.Set("zone", "us-west-2b,us-west-2c")
		must(t, s.Up(t.Context()))
		must(t, control.Open(s.clients(nil), "lab", awstest.Account).Destroy(t.Context()))
		target, err := aws.Open(t.Context(), aws.Config{Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: "lab"}, Region: "us-west-2"}}, Clients: s.clients(nil), Free: s.clients(nil)})
		must(t, err)
		r, err := target.Recover(t.Context())
		must(t, err)
		known, err := layout.ReadKnown(r.Settings)
		must(t, err)
		if d := cmp.Diff(known.Zones, []string{"", "us-west-2b", "us-west-2c"}); d != "" {
			t.Errorf("zones (-got +want):\n%s", d)
		}
		if d := cmp.Diff(known.Used(), []string{"us-west-2b", "us-west-2c"}); d != "" {
			t.Errorf("used (-got +want):\n%s", d)
		}
	})
}
