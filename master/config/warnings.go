package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/policy"
)

// Warnings returns warnings about settings that may not have the expected effect. given reports
// whether the user set a key, so that defaults cause no warnings.
func (m Master) Warnings(given func(path string) bool) document.Errors {
	var w document.Errors
	for _, row := range idleSettings() {
		w.Check(!given(row.path), row.path, "has no effect: %s", row.why)
	}
	w = append(w, m.poolWarnings(given)...)
	w = append(w, GuardedMounts(m)...)
	w.Check(!m.EnableCORS || len(m.CORSOrigins) > 0, "enable_cors", "has no effect by itself; list the sites in cors_origins")
	if s := m.CheckpointStorage; s != nil && s.SharedFS != nil {
		for _, key := range []string{"container_path", "tensorboard_path"} {
			path := "checkpoint_storage." + key
			w.Check(!given(path), path, "has no effect: it is kept for older files")
		}
	}
	return w
}

type idleSetting struct{ path, why string }

// idleSettings lists all settings without an effect, with the reasons.
func idleSettings() []idleSetting {
	return []idleSetting{
		{"config_file", "the file is chosen by --config-file or DET_CONFIG_FILE"},
		{"root", "the web pages are part of the program"},
		{"cache.cache_dir", "this master caches nothing on disk"},
		{"ui_customization", "the web pages cannot be customized"},
		{"security.authz.rbac_ui_enabled", "roles belong to authz type rbac"},
		{"security.authz.fallback", "there is no other authorization to fall back from"},
		{"security.authz.workspace_creator_assign_role", "roles belong to authz type rbac"},
		{"telemetry.enabled", "this master sends no reports"},
		{"telemetry.segment_master_key", "this master sends no reports"},
		{"telemetry.segment_webui_key", "this master sends no reports"},
		{"webhooks.signing_key", "webhooks are not built yet"},
		{"security.ssh", "the keys of shells are of type Ed25519"},
		{"security.token", "access tokens are not built yet; logins last seven days"},
		{"resource_manager.require_authentication", "agents are always authenticated"},
	}
}

func (m Master) poolWarnings(given func(path string) bool) document.Errors {
	var w document.Errors
	if a := m.ResourceManager.Agent; a != nil {
		warnScheduler(&w, "resource_manager.scheduler", &a.Scheduler)
	}
	for i, p := range m.ResourcePools {
		at := document.Index("resource_pools", i)
		warnScheduler(&w, document.Join(at, "scheduler"), p.Scheduler)
		if m.ResourceManager.Kubernetes != nil {
			plain := DefaultPool(p.Name)
			w.Check(p.MaxAuxContainersPerAgent == plain.MaxAuxContainersPerAgent, document.Join(at, "max_aux_containers_per_agent"), "has no effect: the kubelet limits the number of pods per node")
			w.Check(m.EffectiveTaskPolicy(p).MaxProcesses <= 0, document.Join(at, "task_policy.max_processes"), "has no effect: Kubernetes limits the processes of pods with podPidsLimit of its kubelets")
			w.Check(p.AgentReconnectWait == plain.AgentReconnectWait, document.Join(at, "agent_reconnect_wait"), "has no effect: pods have no agents to wait for")
		}
		w.Check(p.AgentReattachEnabled == nil, document.Join(at, "agent_reattach_enabled"), "has no effect: agents always reattach")
		if p.Provider != nil {
			w = append(w, p.Provider.Warnings(document.Join(at, "provider"), given)...)
		}
	}
	return w
}

func warnScheduler(w *document.Errors, path string, s *Scheduler) {
	if s == nil || s.Priority != nil {
		return
	}
	name := "fair_share"
	if s.RoundRobin != nil {
		name = "round_robin"
	}
	w.Add(document.Join(path, "type"), "%s is treated as priority with equal priorities", name)
}

// GuardedMounts returns warnings about defaults of all tasks that no task may have, because every
// such task would be rejected.
func GuardedMounts(m Master) document.Errors {
	guarded := m.guardedPaths()
	var w document.Errors
	m.TaskContainerDefaults.WarnMounts(&w, "task_container_defaults", guarded)
	for i, p := range m.ResourcePools {
		if p.TaskContainerDefaults != nil {
			p.TaskContainerDefaults.WarnMounts(&w, document.Join(document.Index("resource_pools", i), "task_container_defaults"), guarded)
		}
	}
	return w
}

// GuardedMounts returns the same warnings for the tasks of one pool.
func (p Pool) GuardedMounts(m Master) document.Errors {
	var w document.Errors
	p.EffectiveTaskContainer(m.TaskContainerDefaults).WarnMounts(&w, "task_container_defaults", m.guardedPaths())
	return w
}

// guardedPaths returns the paths of this cluster's machines that no task may mount.
func (m Master) guardedPaths() []string {
	if m.DataDir == "" {
		return policy.Guarded()
	}
	return append(policy.Guarded(), m.DataDir)
}
