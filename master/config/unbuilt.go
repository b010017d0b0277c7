package config

import (
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Unbuilt returns the valid settings of m whose features are not implemented. A master refuses to
// start with any of them, because silently ignoring a setting is worse. An implemented feature
// removes its row.
func Unbuilt(m Master) []document.Problem {
	var e document.Errors
	for _, row := range notYet(m) {
		e.Check(!row.used, row.path, "%s not built yet; remove the setting", row.what)
	}
	for i, p := range m.ResourcePools {
		unbuiltPool(&e, document.Index("resource_pools", i), p, m.ResourceManager.Kubernetes != nil)
	}
	onKubernetes := m.ResourceManager.Kubernetes != nil
	unbuiltTask(&e, "task_container_defaults", m.TaskContainerDefaults, onKubernetes)
	for i, s := range m.FeatureSwitches {
		e.Check(s == "prevent_blank_password", document.Index("feature_switches", i), "the switch %q is not built yet; remove it", s)
	}
	return e
}

type unbuilt struct {
	path string
	used bool
	what string
}

func notYet(m Master) []unbuilt {
	rows := []unbuilt{
		{"additional_resource_managers", len(m.AdditionalResourceManagers) > 0, "more than one resource manager is"},
		{"logging.type", m.Logging.Elastic != nil, "storing task logs in Elasticsearch is"},
		{"retention_policy.schedule", m.RetentionPolicy.Schedule != "", "deleting task logs by a schedule, instead of every ten minutes, is"},
		{"webhooks.base_url", m.Webhooks.BaseURL != "", "webhooks are"},
		{"telemetry.otel_enabled", m.Telemetry.OTelEnabled, "tracing is"},
		{"security.authz.type", m.Security.AuthZ.Type == "rbac", "role-based access control is"},
		{"security.authz.strict_job_queue_control", m.Security.AuthZ.StrictJobControl, "keeping the queue to administrators is"},
		{"scim", m.SCIM != nil && m.SCIM.Enabled, "SCIM is"},
		{"saml", m.SAML != nil && m.SAML.Enabled, "SAML is"},
		{"oidc", m.OIDC != nil && m.OIDC.Enabled, "OpenID Connect is"},
		{"det_cloud.login_url", m.DetCloud != nil && m.DetCloud.LoginURL != "", "the hosted product's sign-on is"},
		{"integrations.pachyderm.address", m.Integrations.Pachyderm.Address != "", "Pachyderm is"},
		{"__internal.audit_logging_enabled", m.Internal.AuditLoggingEnabled, "the audit log is"},
		{"__internal.external_sessions", m.Internal.ExternalSessions.used(), "sessions of another system are"},
		{"__internal.proxied_servers", len(m.Internal.ProxiedServers) > 0, "proxying other servers is"},
	}
	if a := m.ResourceManager.Agent; a != nil {
		rows = append(
			rows,
			unbuilt{"resource_manager.client_ca", a.ClientCA != "", "checking agents' client certificates is"},
			unbuilt{"resource_manager.no_default_resource_pools", a.NoDefaultResourcePools, "a cluster without default pools is"},
			unbuilt{"resource_manager.scheduler.allow_heterogeneous_fits", a.Scheduler.Heterogeneous(), "one task on agents of different sizes is"},
		)
	}
	if k := m.ResourceManager.Kubernetes; k != nil {
		rows = append(rows, unbuilt{"resource_manager.internal_task_gateway", k.InternalTaskGateway != nil, "reaching tasks through a gateway is"})
	}
	return rows
}

func unbuiltPool(e *document.Errors, path string, p Pool, onKubernetes bool) {
	if onKubernetes {
		e.Check(p.Provider == nil, document.Join(path, "provider"), "launches agents, but tasks run on Kubernetes; remove it")
		e.Check(p.Scheduler == nil, document.Join(path, "scheduler"), "is for pools of agents; on Kubernetes set resource_manager.default_scheduler, and remove it")
	}
	e.Check(onKubernetes || !p.Autoscaled, document.Join(path, "autoscaled"), "is for resource_manager.type kubernetes; agents are launched by a provider; remove the setting")
	if v := p.Provider; v != nil && v.AWS != nil {
		e.Check(v.AWS.ImageID != "", document.Join(path, "provider.image_id"), "is required: name the AMI of agents")
		e.Check(v.AWS.IAMInstanceProfileARN != "", document.Join(path, "provider.iam_instance_profile_arn"),
			"is required: machines prove their identity with the role of their instance profile, which needs no permissions")
	}
	e.Check(p.Scheduler == nil || !p.Scheduler.Heterogeneous(), document.Join(path, "scheduler.allow_heterogeneous_fits"),
		"one task on agents of different sizes is not built yet; remove the setting")
	if p.TaskContainerDefaults != nil {
		unbuiltTask(e, document.Join(path, "task_container_defaults"), *p.TaskContainerDefaults, onKubernetes)
	}
}

func unbuiltTask(e *document.Errors, path string, t container.Defaults, onKubernetes bool) {
	empty := func(raw document.Raw) bool {
		return raw.IsZero() || slices.Contains([]string{"{}", "null"}, string(raw.JSON()))
	}
	const unbuilt = "is not built yet; remove the setting"
	e.Check(empty(t.Slurm), document.Join(path, "slurm"), unbuilt)
	e.Check(empty(t.PBS), document.Join(path, "pbs"), unbuilt)
	if onKubernetes {
		return
	}
	const why = "is for resource_manager.type kubernetes, and this one runs tasks on agents; remove the setting"
	e.Check(empty(t.CPUPodSpec), document.Join(path, "cpu_pod_spec"), why)
	e.Check(empty(t.GPUPodSpec), document.Join(path, "gpu_pod_spec"), why)
	e.Check(empty(t.CheckpointGCSpec), document.Join(path, "checkpoint_gc_pod_spec"), why)
	e.Check(t.Kubernetes == nil || t.Kubernetes.MaxSlotsPerPod == nil, document.Join(path, "kubernetes.max_slots_per_pod"), why)
}
