package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
)

// printed is what a master of Determined prints of its default configuration.
const printed = `{"config_file":"/etc/determined/master.yaml","log":{"level":"info","color":true},
"db":{"user":"postgres","password":"********","migrations":"file:///usr/share/determined/master/static/migrations",
"views_and_triggers":"/usr/share/determined/master/static/views_and_triggers","host":"determined-db","port":"5432","name":"determined","ssl_mode":"disable","ssl_root_cert":""},
"tensorboard_timeout":300,"notebook_timeout":null,
"security":{"default_task":{"id":0,"user_id":0,"user":"root","uid":0,"group":"root","gid":0,"RelatedUser":null},"tls":{"cert":"","key":""},"ssh":{"rsa_key_size":1024},
"authz":{"type":"basic","fallback":"basic","rbac_ui_enabled":null,"_strict_ntsc_enabled":false,"workspace_creator_assign_role":{"enabled":true,"role_id":2},"strict_job_queue_control":false},
"initial_user_password":""},
"checkpoint_storage":{"type":"shared_fs","checkpoint_path":null,"container_path":null,"host_path":"/data/checkpoints","propagation":null,"save_experiment_best":0,
"save_trial_best":1,"save_trial_latest":1,"storage_path":null,"tensorboard_path":null},
"task_container_defaults":{"shm_size_bytes":4294967296,"network_mode":"bridge","cpu_pod_spec":null,"gpu_pod_spec":null,"checkpoint_gc_pod_spec":null,
"add_capabilities":null,"drop_capabilities":null,"devices":null,"bind_mounts":null,"work_dir":null,"slurm":{},"pbs":{},"startup_hook":"","log_policies":null,
"preemption_timeout":3600,"kubernetes":null},
"port":8080,"root":"/usr/share/determined/master",
"telemetry":{"enabled":false,"segment_master_key":"********","otel_enabled":false,"otel_endpoint":"localhost:4317","segment_webui_key":"********"},
"enable_cors":false,"launch_error":true,"cluster_name":"","logging":{"type":"default"},"retention_policy":{"log_retention_days":null,"schedule":null},
"observability":{"enable_prometheus":true},"cache":{"cache_dir":"/var/cache/determined"},"webhooks":{"base_url":"","signing_key":"0123456789ab"},
"feature_switches":[],"reserved_ports":null,
"resource_manager":{"type":"agent","cluster_name":"default","client_ca":"","default_aux_resource_pool":"default","default_compute_resource_pool":"default","no_default_resource_pools":false,
"require_authentication":false,"metadata":null,"scheduler":{"type":"priority","allow_heterogeneous_fits":false,"default_priority":42,"fitting_policy":"best","preemption":false}},
"resource_pools":[{"pool_name":"default","description":"","provider":null,"max_aux_containers_per_agent":100,"task_container_defaults":null,"agent_reattach_enabled":false,
"agent_reconnect_wait":"25s","scheduler":null}],
"additional_resource_managers":null,
"__internal":{"audit_logging_enabled":false,"external_sessions":{"login_uri":"","logout_uri":"","invite_uri":"","jwt_key":"","org_id":"","cluster_id":""},"proxied_servers":null,"preemption_timeout":null},
"scim":{"enabled":false,"auth":{"type":""}},
"saml":{"enabled":false,"provider":"","idp_recipient_url":"","idp_sso_url":"","idp_sso_descriptor_url":"","idp_cert_path":"","idp_metadata_url":"","auto_provision_users":false,
"groups_attribute_name":"","display_name_attribute_name":"","always_redirect":false},
"oidc":{"enabled":false,"provider":"","client_id":"","client_secret":"","idp_sso_url":"","idp_recipient_url":"","authentication_claim":"email","scim_authentication_attribute":"userName",
"auto_provision_users":false,"groups_attribute_name":"","display_name_attribute_name":"","always_redirect":false,"exclude_groups_scope":null},
"det_cloud":{"login_url":"","org_id":"","cluster_id":"","segment_key":"","capabilities":null},"integrations":{"pachyderm":{"address":""}}}`

func TestPrintedConfigurationIsRead(t *testing.T) {
	t.Parallel()
	m, warnings, err := config.Parse([]byte(printed), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if m.DB.Host != "determined-db" || m.CheckpointStorage.SharedFS == nil || m.ListenPort() != 8080 {
		t.Errorf("got %+v", m)
	}
	if unbuilt := config.Unbuilt(m); len(unbuilt) > 0 {
		t.Errorf("got %v, want a master that starts", unbuilt)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Path)
	}
	for _, want := range []string{"db.migrations", "db.views_and_triggers", "security.default_task.id", "security.default_task.user_id"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in the warnings %s", want, strings.Join(got, ", "))
		}
	}
}
