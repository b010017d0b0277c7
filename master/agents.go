package master

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/admission"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/provision"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// agentConfig returns the configuration of the resource manager for agents. It connects it with
// tasks and, in both directions, with the launchers of machines.
func (m *Master) agentConfig() (agentrm.Config, error) {
	cfg := m.parts.Config
	launched, err := provision.Configs(cfg, m.log)
	if err != nil {
		return agentrm.Config{}, err
	}
	names := cfg.ResourceManager.Pools()
	return agentrm.Config{
		Log: m.log, Store: m.store, Gate: admission.NewGate(m.auth, m.launchers, m.audit), Tasks: m.tasks, Logs: m.tasks,
		Pools: agentPools(cfg), DefaultAux: names.Aux, DefaultCompute: names.Compute,
		ReservedPorts: cfg.ReservedPorts,
		ClusterID:     m.identity.ClusterID, ClusterName: m.identity.ClusterName, MasterID: m.identity.MasterID, Version: m.identity.Version,
		Programs: m.env.Programs, Limits: linkLimits(cfg.Security.Limits), Admitted: guard.MarkKnown,
		AgentConfig: func(who agentrm.Identity) []byte {
			if !who.Launched {
				return nil
			}
			return launched[who.Pool].AgentYAML
		},
		Prepare:    func(pool string) *agentv1.Preparation { return launched[pool].Preparation },
		Room:       m.launchers.Room,
		Machine:    m.launchers.Machine,
		Decided:    m.launchers.Decided,
		Waits:      m.launchers.Waits,
		Describe:   m.launchers.Describe,
		Unprepared: func(id rm.AgentID, reason string) { m.launchers.Unprepared(cloud.InstanceID(id), reason) },
		Noticed: func(id rm.AgentID, n agentrm.Notice) {
			m.launchers.Leaving(cloud.InstanceID(id), noticeReason(n))
		},
	}, nil
}

// noticeReason returns the reason why a machine is about to end.
func noticeReason(n agentrm.Notice) string {
	reason := fmt.Sprintf("its platform announced its %s for %s", n.Kind, n.At.UTC().Format(time.RFC3339))
	if n.Reason != "" {
		reason += " (" + n.Reason + ")"
	}
	return reason
}

// JoinToken creates a token with which machines can join a pool for a limited time. It opens the
// master's store, which a master must have initialized; the master may be running.
func JoinToken(ctx context.Context, parts Parts, n auth.NewJoin) (text token.Text, j token.Join, err error) {
	if !slices.ContainsFunc(parts.Config.ResourcePools, func(p config.Pool) bool { return p.Name == n.Pool }) {
		return "", j, &UnknownPool{Name: n.Pool}
	}
	log := slog.New(slog.DiscardHandler)
	err = withStore(ctx, parts, log, func(s *store.Store) error {
		a, err := auth.Open(ctx, auth.Config{Store: s, Log: log})
		if err != nil {
			return err
		}
		text, j, err = a.SignJoinToken(n)
		return err
	})
	return text, j, err
}

// UnknownPool reports a pool that is not in master.yaml.
type UnknownPool struct{ Name string }

func (e *UnknownPool) Error() string { return "no resource pool " + e.Name + " in the configuration" }

// Unwrap returns rm.ErrUnknownPool.
func (e *UnknownPool) Unwrap() error { return rm.ErrUnknownPool }

// Hint names the setting with the pools.
func (e *UnknownPool) Hint() string { return "name one of resource_pools in master.yaml with --pool" }
