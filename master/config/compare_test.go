package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	parse := func(text string) config.Master {
		t.Helper()
		m, _, err := config.Parse([]byte(text), "master.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	have := parse(`
port: 8080
db: {url: "file:/a"}
task_container_defaults: {environment_variables: [KEY=hunter2], shm_size_bytes: 1}
resource_pools: [{pool_name: default, description: old}, {pool_name: gone}]
`)
	want := parse(`
port: 9090
db: {url: "file:/a"}
task_container_defaults: {environment_variables: [KEY=hunter3]}
resource_pools: [{pool_name: more}, {pool_name: default, description: new, max_aux_containers_per_agent: 7}]
`)
	got := config.Compare(have, want)
	if d := cmp.Diff(got, []document.Difference{
		{Path: "port", Have: "8080", Want: "9090"},
		{Path: "task_container_defaults.shm_size_bytes", Have: "1", Want: "4294967296"},
		{Path: "task_container_defaults.environment_variables[0]", Have: "‹redacted›", Want: "‹redacted› (another)"},
		{Path: "resource_pools[more]", Want: "new"},
		{Path: "resource_pools[default].description", Have: "old", Want: "new"},
		{Path: "resource_pools[default].max_aux_containers_per_agent", Have: "100", Want: "7"},
		{Path: "resource_pools[gone]", Have: "present", Want: "removed"},
	}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if same := config.Compare(want, want); len(same) > 0 {
		t.Errorf("got %v, want that a configuration is like itself", same)
	}
}
