package master

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
)

func TestPasswordsOfRegistriesAreResolvedForTasks(t *testing.T) {
	t.Parallel()
	from := secret.Resolver{LookupEnv: func(string) (string, bool) { return "hunter2", true }}
	ref, err := secret.Parse("env:REGISTRY")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.DefaultMaster()
	cfg.TaskContainerDefaults.RegistryAuth = &config.RegistryAuth{Username: "u", Password: ref}
	pool := config.DefaultPool("p")
	pool.TaskContainerDefaults = &config.TaskContainerDefaults{RegistryAuth: &config.RegistryAuth{Username: "v", Password: ref}}
	cfg.ResourcePools = []config.Pool{pool}
	got, err := withRegistries(t.Context(), cfg, from)
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range []*config.RegistryAuth{got.TaskContainerDefaults.RegistryAuth, got.ResourcePools[0].TaskContainerDefaults.RegistryAuth} {
		if auth.Password.Reveal() != "hunter2" {
			t.Errorf("got no password for %s, want the resolved one", auth.Username)
		}
	}
	if cfg.TaskContainerDefaults.RegistryAuth.Password.Reveal() != "" {
		t.Error("the configuration that is shown has the password in it")
	}
}
