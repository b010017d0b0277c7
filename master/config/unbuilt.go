package config

import (
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/master/config/document"
)

// Unbuilt lists every setting of m that is valid and whose feature does not exist
// yet. A master refuses to start with any of them, because a setting that is
// silently ignored is worse than one that is refused. Building a feature removes
// its row.
func Unbuilt(m Master) []document.Problem {
	var e document.Errors
	for _, row := range notYet(m) {
		e.Check(!row.used, row.path, "%s not built yet; remove the setting", row.what)
	}
	for i, p := range m.ResourcePools {
		unbuiltPool(&e, document.Index("resource_pools", i), p)
	}
	unbuiltTask(&e, "task_container_defaults", m.TaskContainerDefaults)
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
		{"resource_manager.type", m.ResourceManager.Kubernetes != nil, "running tasks on Kubernetes is"},
		{"additional_resource_managers", len(m.AdditionalResourceManagers) > 0, "more than one resource manager is"},
		{"logging.type", m.Logging.Elastic != nil, "storing task logs in Elasticsearch is"},
		{"retention_policy.schedule", m.RetentionPolicy.Schedule != "", "deleting task logs by a schedule, instead of every ten minutes, is"},
		{"webhooks.base_url", m.Webhooks.BaseURL != "", "webhooks are"},
		{"webhooks.signing_key", !m.Webhooks.SigningKey.IsZero(), "webhooks are"},
		{"telemetry.otel_enabled", m.Telemetry.OTelEnabled, "tracing is"},
		{"security.authz.type", m.Security.AuthZ.Type == "rbac", "role-based access control is"},
		{"security.authz.strict_job_queue_control", m.Security.AuthZ.StrictJobControl, "keeping the queue to administrators is"},
		{"scim", m.SCIM != nil && m.SCIM.Enabled, "SCIM is"},
		{"saml", m.SAML != nil && m.SAML.Enabled, "SAML is"},
		{"oidc", m.OIDC != nil && m.OIDC.Enabled, "OpenID Connect is"},
		{"det_cloud", m.DetCloud != nil, "the hosted product's sign-on is"},
		{"integrations.pachyderm.address", m.Integrations.Pachyderm.Address != "", "Pachyderm is"},
		{"__internal.audit_logging_enabled", m.Internal.AuditLoggingEnabled, "the audit log is"},
		{"__internal.external_sessions", m.Internal.ExternalSessions != nil, "sessions of another system are"},
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
	return rows
}

func unbuiltPool(e *document.Errors, path string, p Pool) {
	if v := p.Provider; v != nil {
		at := document.Join(path, "provider.type")
		if v.AWS != nil {
			e.Check(v.AWS.ImageID != "", document.Join(path, "provider.image_id"), "is needed: name the AMI of its region that agents start from")
			e.Check(v.AWS.IAMInstanceProfileARN != "", document.Join(path, "provider.iam_instance_profile_arn"),
				"is needed: a machine proves which it is by the role of its instance profile, which may have no permissions at all")
		}
		e.Check(v.GCP == nil, at, "launching agents on Google Cloud is not built yet; remove provider and start agents yourself")
	}
	e.Check(p.Scheduler == nil || !p.Scheduler.Heterogeneous(), document.Join(path, "scheduler.allow_heterogeneous_fits"),
		"one task on agents of different sizes is not built yet; remove the setting")
	if p.TaskContainerDefaults != nil {
		unbuiltTask(e, document.Join(path, "task_container_defaults"), *p.TaskContainerDefaults)
	}
}

func unbuiltTask(e *document.Errors, path string, t TaskContainerDefaults) {
	for _, row := range []struct {
		key string
		raw document.Raw
	}{
		{"cpu_pod_spec", t.CPUPodSpec},
		{"gpu_pod_spec", t.GPUPodSpec},
		{"checkpoint_gc_pod_spec", t.CheckpointGCSpec},
		{"slurm", t.Slurm},
		{"pbs", t.PBS},
	} {
		empty := row.raw.IsZero() || slices.Contains([]string{"{}", "null"}, string(row.raw.JSON()))
		e.Check(empty, document.Join(path, row.key), "is not built yet; remove the setting")
	}
	if k := t.Kubernetes; k != nil && k.MaxSlotsPerPod != nil {
		e.Add(document.Join(path, "kubernetes.max_slots_per_pod"), "running tasks on Kubernetes is not built yet (is %s)", strconv.Itoa(*k.MaxSlotsPerPod))
	}
}
