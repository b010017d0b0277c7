package master

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/harness"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
)

// agentPools converts the pools of master.yaml for agentrm.
func agentPools(cfg config.Master) []agentrm.Pool {
	all := make([]agentrm.Pool, 0, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all = append(all, agentrm.Pool{
			Name:          p.Name,
			Description:   p.Description,
			MaxAux:        p.MaxAuxContainersPerAgent,
			ReconnectWait: time.Duration(p.AgentReconnectWait),
			Scheduler:     schedulerOf(p.EffectiveScheduler(*cfg.ResourceManager.Agent)),
			Interface:     p.EffectiveTaskContainer(cfg.TaskContainerDefaults).DtrainInterface,
			Policy:        taskPolicy(cfg, p),
			Limits:        cfg.EffectiveTaskPolicy(p).MachineLimits(),
			Price:         DescribeSlotPrice(p),
			Metadata:      metadataOf(cfg.ResourceManager.Agent.Metadata),
		})
	}
	return all
}

// taskPolicy returns the task policy of a pool for clients, including the master's own defaults
// that the policy forbids.
func taskPolicy(cfg config.Master, p config.Pool) *apiv1.TaskPolicy {
	out := cfg.Policy(p).API()
	if out == nil {
		return nil
	}
	for _, w := range p.GuardedMounts(cfg) {
		out.Warnings = append(out.Warnings, w.String())
	}
	return out
}

func schedulerOf(s config.PriorityScheduler) pool.Scheduler {
	fitting := pool.Best
	if s.Policy == config.FitWorst {
		fitting = pool.Worst
	}
	return pool.Scheduler{Preemption: s.Preemption, Fitting: fitting, DefaultPriority: s.DefaultPriority}
}

func metadataOf(given map[string]document.Raw) map[string]string {
	m := make(map[string]string, len(given))
	for key, raw := range given {
		m[key] = string(raw.JSON())
	}
	return m
}

// serverLimits converts the limits of API calls.
func serverLimits(l security.Limits) server.Limits {
	return server.Limits{
		Bodies: int64(l.BodyBytes), Spooled: int64(l.SpooledBytes), Streams: l.StreamsPerUser,
		Connections: l.ConnectionsInAll, ConnectionsEach: l.ConnectionsEach,
	}
}

// linkLimits converts the limits of agents' connections.
func linkLimits(l security.Limits) link.Limits {
	out := link.DefaultLimits()
	out.Unwelcomed, out.UnwelcomedEach = l.AgentsInAll, l.AgentsEach
	return out
}

// taskLimits converts the limits of one user's tasks.
func taskLimits(l security.Limits) task.Limits {
	return task.Limits{Tasks: l.TasksPerUser, Contexts: int64(l.ContextsPerUser)}
}

// taskPolicies returns the task policies by pool, which allow mounts of former checkpoint storages.
func taskPolicies(cfg config.Master, former []policy.HostPath) func(pool string) policy.Policy {
	all := make(map[string]policy.Policy, len(cfg.ResourcePools))
	given := policy.Policy{Storages: former}
	for _, p := range cfg.ResourcePools {
		all[p.Name] = cfg.Policy(p).Allow(given)
	}
	return func(pool string) policy.Policy {
		if p, found := all[pool]; found {
			return p
		}
		return cfg.Policy(config.Pool{}).Allow(given)
	}
}

// taskDefaults returns the container defaults by pool.
func taskDefaults(cfg config.Master) func(pool string) container.Defaults {
	all := make(map[string]container.Defaults, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all[p.Name] = p.EffectiveTaskContainer(cfg.TaskContainerDefaults)
	}
	return func(pool string) container.Defaults {
		if d, found := all[pool]; found {
			return d
		}
		return cfg.TaskContainerDefaults
	}
}

// firstPasswords returns the initial passwords of admin and determined.
func firstPasswords(ctx context.Context, s security.Settings, secrets secret.Resolver) (admin, determined auth.Password, err error) {
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

// withRegistries returns cfg with the resolved passwords of image registries, which are sent to
// agents with each task.
func withRegistries(ctx context.Context, cfg config.Master, from secret.Resolver) (config.Master, error) {
	return changeDefaults(cfg, "registry_auth.password", func(d container.Defaults) (container.Defaults, error) {
		return withRegistry(ctx, d, from)
	})
}

// withWheels loads the wheels in cfg and returns cfg with their hashes.
func withWheels(cfg config.Master, wheels *harness.Wheels) (config.Master, error) {
	return changeDefaults(cfg, "harness_wheel", func(d container.Defaults) (container.Defaults, error) {
		var err error
		d.HarnessWheel, err = wheels.Load(d.HarnessWheel)
		return d, err
	})
}

// changeDefaults returns cfg with changed container defaults, of the cluster and of each pool. An
// error names the setting, which ends in key.
func changeDefaults(cfg config.Master, key string, change func(container.Defaults) (container.Defaults, error)) (config.Master, error) {
	var err error
	if cfg.TaskContainerDefaults, err = change(cfg.TaskContainerDefaults); err != nil {
		return cfg, fmt.Errorf("task_container_defaults.%s: %w", key, err)
	}
	pools := make([]config.Pool, len(cfg.ResourcePools))
	for i, p := range cfg.ResourcePools {
		if p.TaskContainerDefaults != nil {
			d, err := change(*p.TaskContainerDefaults)
			if err != nil {
				return cfg, fmt.Errorf("resource_pools[%d].task_container_defaults.%s: %w", i, key, err)
			}
			p.TaskContainerDefaults = &d
		}
		pools[i] = p
	}
	cfg.ResourcePools = pools
	return cfg, nil
}

func withRegistry(ctx context.Context, d container.Defaults, from secret.Resolver) (container.Defaults, error) {
	if d.RegistryAuth == nil {
		return d, nil
	}
	auth := *d.RegistryAuth
	var err error
	auth.Password, err = from.Resolve(ctx, auth.Password)
	d.RegistryAuth = &auth
	return d, err
}
