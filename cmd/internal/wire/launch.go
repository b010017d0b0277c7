package wire

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/agentrm"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/launcher"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
)

// site is what platforms know of the master whose machines they launch.
type site struct {
	cfg       config.Master
	clusterID string
	log       *slog.Logger
	// certificate is what the master shows, nil without TLS; programs are the
	// SHA-256 of those that it hands out, by platform.
	certificate server.CertificateSource
	programs    map[string]string
}

// machines is how one platform gives a pool its machines.
type machines struct {
	instances cloud.Instances
	offers    []cloud.Offer
	// slots is how many devices one machine has.
	slots int
	// describe adds to what clients are shown of the pool; it may be nil.
	describe func(*apiv1.ResourcePool)
}

// newLaunchers builds what launches the machines of every pool with a provider.
func newLaunchers(ctx context.Context, s site, st *store.Store) (*launcher.Launchers, error) {
	c := launcher.Config{Store: st, Log: s.log}
	for _, p := range s.cfg.ResourcePools {
		if p.Provider == nil {
			continue
		}
		m, err := s.machines(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("launch machines for resource pool %q: %w", p.Name, err)
		}
		c.Pools = append(c.Pools, launcher.Pool{
			Name: p.Name, Instances: m.instances, Offers: m.offers, Limits: limits(p.Provider.Elastic()),
			Shape:       elastic.Shape{Slots: m.slots, Aux: p.MaxAuxContainersPerAgent},
			KeepWaiting: !s.cfg.LaunchError,
			Describe:    describe(*p.Provider, m.describe),
		})
	}
	return launcher.New(c)
}

// machines asks the platform that a pool names.
func (s site) machines(ctx context.Context, p config.Pool) (machines, error) {
	switch {
	case p.Provider.Local != nil:
		return s.localMachines(ctx, p)
	case p.Provider.AWS != nil:
		return s.awsMachines(ctx, p)
	}
	return machines{}, fmt.Errorf("its provider cannot launch machines yet")
}

func limits(e config.Elastic) elastic.Limits {
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

// launching connects the launchers to the scheduler, in both directions.
func launching(c agentrm.Config, l *launcher.Launchers) agentrm.Config {
	c.Room, c.Machine, c.Decided, c.Waits, c.Describe = l.Room, l.Machine, l.Decided, l.Waits, l.Describe
	c.Unprepared = func(id rm.AgentID, reason string) { l.Unprepared(cloud.InstanceID(id), reason) }
	c.Noticed = func(id rm.AgentID, n agentrm.Notice) {
		text := fmt.Sprintf("its platform announced its %s for %s", n.Kind, n.At.UTC().Format(time.RFC3339))
		if n.Reason != "" {
			text += " (" + n.Reason + ")"
		}
		l.Leaving(cloud.InstanceID(id), text)
	}
	return c
}
