package gcp_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

func TestChecksOfANewClusterPass(t *testing.T) {
	t.Parallel()
	s := newStage(t, gcptest.Options{})
	target, err := s.target(t.Context())
	must(t, err)
	for _, c := range target.Checks() {
		if r := c.Look(t.Context()); r.Answer != doctor.Pass {
			t.Errorf("%s: got %s: %s, want pass", c.Name, r.Answer, r.Found)
		}
	}
	if n := s.world.Changes(); n > 0 {
		t.Errorf("got %d changes by looking, want none", n)
	}
}
