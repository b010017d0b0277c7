package master

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
)

// firstPasswords are those of admin and determined in a new database.
func firstPasswords(ctx context.Context, s config.Security, secrets secret.Resolver) (admin, determined auth.Password, err error) {
	user, err := secrets.Resolve(ctx, s.InitialUserPassword)
	if err != nil {
		return "", "", fmt.Errorf("security.initial_user_password: %w", err)
	}
	own, err := secrets.Resolve(ctx, s.DeterminedPassword)
	if err != nil {
		return "", "", fmt.Errorf("security.initial_determined_password: %w", err)
	}
	return auth.Password(user.Reveal()), auth.Password(own.Reveal()), nil
}

// withRegistries is cfg with the passwords of image registries, which go to agents
// with each task.
func withRegistries(ctx context.Context, cfg config.Master, from secret.Resolver) (config.Master, error) {
	var err error
	if cfg.TaskContainerDefaults, err = withRegistry(ctx, cfg.TaskContainerDefaults, from); err != nil {
		return cfg, fmt.Errorf("task_container_defaults.registry_auth.password: %w", err)
	}
	pools := make([]config.Pool, len(cfg.ResourcePools))
	for i, p := range cfg.ResourcePools {
		if p.TaskContainerDefaults != nil {
			d, err := withRegistry(ctx, *p.TaskContainerDefaults, from)
			if err != nil {
				return cfg, fmt.Errorf("resource_pools[%d].task_container_defaults.registry_auth.password: %w", i, err)
			}
			p.TaskContainerDefaults = &d
		}
		pools[i] = p
	}
	cfg.ResourcePools = pools
	return cfg, nil
}

func withRegistry(ctx context.Context, d config.TaskContainerDefaults, from secret.Resolver) (config.TaskContainerDefaults, error) {
	if d.RegistryAuth == nil {
		return d, nil
	}
	auth := *d.RegistryAuth
	var err error
	auth.Password, err = from.Resolve(ctx, auth.Password)
	d.RegistryAuth = &auth
	return d, err
}
