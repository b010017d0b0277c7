package master

import (
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/policy"
)

// taskPolicies is what tasks of each pool may do.
func taskPolicies(cfg config.Master) func(pool string) policy.Policy {
	all := make(map[string]policy.Policy, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all[p.Name] = cfg.Policy(p)
	}
	return func(pool string) policy.Policy {
		if p, found := all[pool]; found {
			return p
		}
		return cfg.Policy(config.Pool{})
	}
}

// taskDefaults is what containers of each pool get.
func taskDefaults(cfg config.Master) func(pool string) config.TaskContainerDefaults {
	all := make(map[string]config.TaskContainerDefaults, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all[p.Name] = p.EffectiveTaskContainer(cfg.TaskContainerDefaults)
	}
	return func(pool string) config.TaskContainerDefaults {
		if d, found := all[pool]; found {
			return d
		}
		return cfg.TaskContainerDefaults
	}
}
