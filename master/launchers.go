package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/launcher"
	"github.com/det-deploy/det-deploy/master/store"
)

// newLaunchers creates the launchers of all pools with a provider.
func newLaunchers(ctx context.Context, env Env, providers map[string]Provider, st *store.Store) (*launcher.Launchers, error) {
	c := launcher.Config{Store: st, Log: env.Log}
	for _, p := range env.Config.ResourcePools {
		if p.Provider == nil {
			continue
		}
		m, err := newMachines(ctx, env, providers, p)
		if err != nil {
			return nil, fmt.Errorf("launch machines for resource pool %q: %w", p.Name, err)
		}
		c.Pools = append(c.Pools, launcher.Pool{
			Name: p.Name, Instances: m.Instances, Offers: m.Offers, Limits: launchLimits(p.Provider.Elastic()),
			LaunchWait:  m.LaunchWait,
			Shape:       elastic.Shape{Slots: m.Slots, Aux: p.MaxAuxContainersPerAgent},
			KeepWaiting: !env.Config.LaunchError,
			Describe:    describeMachines(*p.Provider, m.Describe),
		})
	}
	return launcher.New(c)
}

// newMachines calls the provider of a pool.
func newMachines(ctx context.Context, env Env, providers map[string]Provider, p config.Pool) (Machines, error) {
	provider, ok := providers[p.Provider.Type()]
	if !ok {
		return Machines{}, fmt.Errorf("its provider cannot launch machines yet")
	}
	return provider.Machines(ctx, env, p)
}

// newAttestors returns the attestors by kind of proof. A master accepts only the kinds of its
// pools' providers.
func newAttestors(env Env, providers map[string]Provider) (map[string]cloud.Attestor, error) {
	pools := map[string][]config.Pool{}
	for _, p := range env.Config.ResourcePools {
		if p.Provider != nil {
			pools[p.Provider.Type()] = append(pools[p.Provider.Type()], p)
		}
	}
	all := make(map[string]cloud.Attestor)
	var errs []error
	for name, of := range pools {
		if provider, ok := providers[name]; ok {
			kinds, a, err := provider.Attestor(env, of)
			for _, kind := range kinds {
				all[kind] = a
			}
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

func launchLimits(e provider.Elastic) elastic.Limits {
	l := elastic.Limits{
		Min: e.MinInstances, Max: e.MaxInstances,
		MaxIdle: time.Duration(e.MaxIdleAgentPeriod), MaxStarting: time.Duration(e.MaxAgentStartingPeriod),
		ErrorRetries: e.LaunchErrorRetries,
	}
	if t := e.LaunchErrorTimeout; t != nil {
		l.ErrorTimeout = time.Duration(*t)
	}
	return l
}

// describeMachines returns a function that adds the configuration of a pool's machines to an API
// message. It omits scripts, which may contain secrets; only administrators see them, with the
// master's configuration.
func describeMachines(p provider.Provider, platform func(*apiv1.ResourcePool)) func(*apiv1.ResourcePool) {
	return func(out *apiv1.ResourcePool) {
		e := p.Elastic()
		out.MasterUrl, out.MasterCertName = e.MasterURL, e.MasterCertName
		out.AgentDockerNetwork, out.AgentDockerRuntime, out.AgentDockerImage = e.AgentDockerNetwork, e.AgentDockerRuntime, e.AgentDockerImage
		if platform != nil {
			platform(out)
		}
	}
}
