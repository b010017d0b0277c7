package master

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// The policy of a pool lists the master's own defaults that it forbids.
func TestTaskPolicyListsForbiddenDefaults(t *testing.T) {
	t.Parallel()
	read, err := config.LoadGenerated([]byte(`
task_container_defaults: {bind_mounts: [{host_path: /var/run/docker.sock, container_path: /d}]}
resource_pools:
  - pool_name: default
  - pool_name: own
    task_container_defaults: {bind_mounts: [{host_path: /srv/data, container_path: /d}]}
`), "master.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		p := read.Master.ResourcePools[i]
		got := taskPolicy(read.Master, p).GetWarnings()
		if len(got) != want || want > 0 && !strings.Contains(got[0], "every task with this mount is rejected") {
			t.Errorf("pool %s: got %q, want %d", p.Name, got, want)
		}
	}
}

func TestPasswordsOfRegistriesAreResolvedForTasks(t *testing.T) {
	t.Parallel()
	from := secret.Resolver{LookupEnv: func(string) (string, bool) { return "hunter2", true }}
	ref, err := secret.Parse("env:REGISTRY")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.DefaultMaster()
	cfg.TaskContainerDefaults.RegistryAuth = &container.RegistryAuth{Username: "u", Password: ref}
	pool := config.DefaultPool("p")
	pool.TaskContainerDefaults = &container.Defaults{RegistryAuth: &container.RegistryAuth{Username: "v", Password: ref}}
	cfg.ResourcePools = []config.Pool{pool}
	got, err := withRegistries(t.Context(), cfg, from)
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range []*container.RegistryAuth{got.TaskContainerDefaults.RegistryAuth, got.ResourcePools[0].TaskContainerDefaults.RegistryAuth} {
		if auth.Password.Reveal() != "hunter2" {
			t.Errorf("got no password for %s, want the resolved one", auth.Username)
		}
	}
	if cfg.TaskContainerDefaults.RegistryAuth.Password.Reveal() != "" {
		t.Error("the configuration that is shown has the password in it")
	}
}
