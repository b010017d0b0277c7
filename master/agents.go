package master

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/admission"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/provision"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// agentConfig is how the resource manager of agents is built: connected to the tasks
// and, in both directions, to what launches machines.
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
		ClusterID: m.identity.ClusterID, ClusterName: m.identity.ClusterName, MasterID: m.identity.MasterID, Version: m.identity.Version,
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

// noticeReason is why a machine is about to end.
func noticeReason(n agentrm.Notice) string {
	reason := fmt.Sprintf("its platform announced its %s for %s", n.Kind, n.At.UTC().Format(time.RFC3339))
	if n.Reason != "" {
		reason += " (" + n.Reason + ")"
	}
	return reason
}
