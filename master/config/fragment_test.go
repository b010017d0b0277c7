package config_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

func TestLocateInFragment(t *testing.T) {
	t.Parallel()
	const fragment = "portt: 1\nlog:\n  level: trace\nresource_pools:\n  - pool_name: a\n    provider:\n      type: aws\n      max_instances: -1\n"
	for _, tc := range []struct{ path, want string }{
		{"resource_pools[0].provider.max_instances", "--master-config-file:8: resource_pools[0].provider.max_instances: wrong"},
		{"resource_pools[0].provider.min_instances", "--master-config-file:6: resource_pools[0].provider.min_instances: wrong"},
		{"log.color", "master.yaml: log.color: wrong"},
		{"portt", "--master-config-file:1: portt: wrong"},
		{"port", "master.yaml: port: wrong"},
	} {
		got := config.LocateInFragment(fragment, "--master-config-file", document.Errors{{File: "master.yaml", Path: tc.path, Text: "wrong"}})
		if len(got) != 1 || got[0].String() != tc.want {
			t.Errorf("got %v, want %s", got, tc.want)
		}
	}
	problems := document.Errors{{Path: "port", Text: "wrong"}}
	if got := config.LocateInFragment("[", "f", problems); len(got) != 1 || got[0].File != "" {
		t.Errorf("got %v of what cannot be read, want the same", got)
	}
}
