package gcp_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/doctor"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
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

func TestLocateAddsLines(t *testing.T) {
	t.Parallel()
	for fragment, want := range map[string]string{
		"log: {level: debug}\nportt: 1\n": "--master-config-file:2: portt: unknown key",
		"resource_manager: {default_aux_resource_pool: p, default_compute_resource_pool: p}\nresource_pools: [{pool_name: p, provider: {type: gcp, agent_config_file_contents: {slot_typ: cpu}}}]\n": "--master-config-file:2: resource_pools[0].provider",
	} {
		s := newStage(t, gcptest.Options{}, "master-config-file", fragment)
		target, err := s.target(t.Context())
		must(t, err)
		found := ""
		for _, c := range target.Checks() {
			if c.Name == "configuration" {
				r := c.Look(t.Context())
				found = string(r.Answer) + " " + r.Found
			}
		}
		if !strings.HasPrefix(found, string(doctor.Fail)) || !strings.Contains(found, want) {
			t.Errorf("got %s, want it failed with %s", found, want)
		}
	}
}
