package config_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
)

// Each rule of each type with a configuration that violates it.
func TestParseReportsEachBrokenRule(t *testing.T) {
	t.Parallel()
	pool := func(rest string) string { return "resource_pools:\n- pool_name: default\n" + rest }
	aws := func(rest string) string {
		return pool("  provider: {type: aws, ssh_key_name: k, " + rest + "}")
	}
	gcp := func(rest string) string { return pool("  provider: {type: gcp, " + rest + "}") }
	k8s := func(rest string) string {
		return "resource_manager: {type: kubernetes, max_slots_per_pod: 1, " + rest + "}"
	}
	gateway := func(rest string) string {
		return k8s("internal_task_gateway: {gateway_name: g, gateway_namespace: n, gateway_ip: i, " + rest + "}")
	}
	tcd := func(rest string) string { return "task_container_defaults: {" + rest + "}" }
	for _, tc := range []struct{ name, yaml, want string }{
		{"a mistyped key in a pool", pool("  max_aux_container_per_agent: 3"), "master.yaml:3: resource_pools[0].max_aux_container_per_agent: unknown key (did you mean max_aux_containers_per_agent?)"},
		{"an unknown top-level key", "resource_pool: []", "did you mean resource_pools?"},
		{"log level", "log: {level: loud}", `log.level: must be one of trace, debug, info, warn, error, fatal (is "loud")`},
		{"port", "port: 70000", "port: must be between 0 and 65535 (is 70000)"},
		{"data directory", "data_dir: ''", "data_dir: is required"},
		{"tensorboard timeout", "tensorboard_timeout: 0", "tensorboard_timeout: must be more than 0"},
		{"notebook timeout", "notebook_timeout: -1", "notebook_timeout: must be at least 10s"},
		{"reserved ports", "reserved_ports: [1, 0]", "reserved_ports[1]: must be between 1 and 65535 (is 0)"},
		{"database type", "db: {type: mysql}", "db.type: must be one of embedded, postgres"},
		{"database TLS mode", "db: {ssl_mode: maybe}", "db.ssl_mode: must be one of disable"},
		{"database URL and parts", "db: {url: 'env:X', host: h}", "db.url: excludes user, password, host, port and name"},
		{"database without host", "db: {type: postgres, user: u, name: n}", "db.host: is required with type postgres"},
		{"database without name", "db: {host: h, user: u}", "db.name: is required"},
		{"database without user", "db: {host: h, name: u}", "db.user: is required"},
		{"database parts without a server", "db: {user: u}", "db: has settings of a PostgreSQL server but no host"},
		{"database CA without TLS", "db: {host: h, user: u, name: n, ssl_root_cert: /ca}", "db.ssl_root_cert: has no effect with ssl_mode prefer"},
		{"database port", "db: {host: h, user: u, name: n, port: x}", "db.port: must be between 1 and 65535"},
		{"secret reference", "db: {password: 'file:relative'}", "db.password: is a file: reference whose path is not absolute"},
		{"task user", "security: {default_task: {user: ''}}", "security.default_task.user: is required"},
		{"task user number", "security: {default_task: {uid: -1}}", "security.default_task.uid: must be at least 0"},
		{"TLS mode", "security: {tls: maybe}", "security.tls: must be one of auto, off"},
		{"TLS key", "security: {tls: {cert: /c}}", "security.tls.key: is required when cert is set"},
		{"TLS certificate", "security: {tls: {key: /c}}", "security.tls.cert: is required when key is set"},
		{"TLS key name", "security: {tls: {crt: /c}}", "did you mean cert?"},
		{"SSH key type", "security: {ssh: {key_type: DSA}}", "security.ssh.key_type: must be one of"},
		{"RSA key size", "security: {ssh: {key_type: RSA}}", "security.ssh.rsa_key_size: must be between 1 and 16384"},
		{"authorization", "security: {authz: {type: acl}}", "security.authz.type: must be one of basic, rbac"},
		{"token limit", "security: {token: {max_lifespan_days: 0}}", "security.token.max_lifespan_days: must be more than 0, or -1"},
		{"token default", "security: {token: {default_lifespan_days: 31}}", "must be at most max_lifespan_days (31 > 30)"},
		{"weak password", "security: {initial_user_password: short}", "security.initial_user_password: must have at least 8 characters"},
		{"weak password of determined", "security: {initial_determined_password: short}", "security.initial_determined_password: must have at least 8 characters"},
		{"elastic host", "logging: {type: elastic, port: 9200}", "logging.host: is required"},
		{"elastic port", "logging: {type: elastic, host: h}", "logging.port: must be between 1 and 65535"},
		{"retention days", "retention_policy: {log_retention_days: -2}", "retention_policy.log_retention_days: must be at least -1"},
		{"retention hours", "retention_policy: {listed_hours: -1}", "retention_policy.listed_hours: must be 0 to 876000 (is -1)"},
		{"retention tasks", "retention_policy: {listed_tasks: -1}", "retention_policy.listed_tasks: must not be negative (is -1)"},
		{"retention schedule", "retention_policy: {schedule: often}", "retention_policy.schedule: must be a duration or five cron fields"},
		{"priority", "resource_manager: {scheduler: {type: priority, default_priority: 100}}", "resource_manager.scheduler.default_priority: must be between 1 and 99 (is 100)"},
		{"fitting", "resource_manager: {scheduler: {fitting_policy: tight}}", "resource_manager.scheduler.fitting_policy: must be one of best, worst"},
		{"a key of another scheduler", "resource_manager: {scheduler: {type: fair_share, preemption: true}}", "resource_manager.scheduler.preemption: unknown key"},
		{"default pool", "resource_manager: {default_aux_resource_pool: aux}", `resource_manager.default_aux_resource_pool: names no pool ("aux")`},
		{"no cluster name", "resource_manager: {cluster_name: ''}", "resource_manager.cluster_name: is required"},
		{"no pool name", "resource_pools: [{}]", "resource_pools[0].pool_name: is required"},
		{"pool twice", pool("- pool_name: default"), `resource_pools[1].pool_name: must be unique ("default" is also resource_pools[0])`},
		{"aux containers", pool("  max_aux_containers_per_agent: -1"), "max_aux_containers_per_agent: must be at least 0"},
		{"provider without type", pool("  provider: {region: us-west-2}"), "resource_pools[0].provider.type: is required: one of aws, gcp, local"},
		{"provider type", pool("  provider: {type: azure}"), "must be one of aws, gcp, local"},
		{"min over max", aws("min_instances: 6"), "master.yaml:3: resource_pools[0].provider.max_instances: must be at least min_instances (5 < 6)"},
		{"max", aws("max_instances: 0"), "max_instances: must be more than 0"},
		{"idle period", aws("max_idle_agent_period: 0s"), "max_idle_agent_period: must be more than 0"},
		{"starting period", aws("max_agent_starting_period: 0s"), "max_agent_starting_period: must be more than 0"},
		{"master URL with a path", aws("master_url: 'http://h:80/x'"), "master_url: must not have a path"},
		{"master URL with a password", aws("master_url: 'http://u:p@h:80'"), "master_url: must consist of scheme, host and port"},
		{"master URL with a question", aws("master_url: 'http://h:80?x'"), "master_url: must consist of scheme, host and port"},
		{"agent configuration", aws("agent_config_file_contents: [1]"), "agent_config_file_contents: must be a mapping"},
		{"master URL without scheme", aws("master_url: 'h:80'"), "master_url: must be http:// or https://"},
		{"root volume", aws("root_volume_size: 50"), "root_volume_size: must be at least 100 (is 50)"},
		{"instance type", aws("instance_type: x9.huge"), "instance_type: is an unknown instance type; set instance_slots"},
		{"types of different size", aws("instance_types: [p3.2xlarge, p3.8xlarge]"), "instance_types[1]: must have as many slots as the first type (4, not 1)"},
		{"instance slots", aws("instance_slots: -1"), "instance_slots: must be at least 0"},
		{"subnets twice", aws("subnets: [a], network_interface: {subnet_id: b}"), "subnets: excludes network_interface.subnet_id"},
		{"spot price", aws("spot: true, spot_max_price: 1.2.3"), "spot_max_price: must be a price in dollars per hour"},
		{"spot price without spot", aws("spot_max_price: '1.2'"), "spot_max_price: has no effect without spot"},
		{"spot price twice", aws("spot: {max_price: '1'}, spot_max_price: '2'"), "spot_max_price: is also given in spot.max_price"},
		{"a price without an amount", pool("  slot_price: {currency: EUR}"), "slot_price.per_hour: must be more than 0 (is 0)"},
		{"a price in no currency", pool("  slot_price: {per_hour: 1.5, currency: euro}"), `slot_price.currency: must be three capital letters such as USD (is "euro")`},
		{"a spot price without a provider", pool("  slot_price: {per_hour: 1.5, spot_per_hour: 0.5}"), "slot_price.spot_per_hour: has no effect without spot machines"},
		{"a negative spot price", pool("  slot_price: {per_hour: 1.5, spot_per_hour: -1}"), "slot_price.spot_per_hour: must be more than 0 (is -1)"},
		{"spot key", aws("spot: {fallback: true}"), "spot.fallback: unknown key"},
		{"boot disk", gcp("boot_disk_size: 50"), "boot_disk_size: must be at least 100 (is 50)"},
		{"half a network", gcp("network_interface: {network: n}"), "network_interface: must have both network and subnetwork"},
		{"GPU number", gcp("instance_type: {gpu_num: 3}"), `instance_type.gpu_num: must be one of [0 1 2 4] with gpu_type "nvidia-tesla-t4" (is 3)`},
		{"machine type", gcp("instance_type: {machine_type: big}"), "instance_type.machine_type: must be a machine type"},
		{"operation timeout", gcp("operation_timeout_period: 0s"), "operation_timeout_period: must be more than 0"},
		{"base configuration", gcp("base_config: [1]"), "base_config: must be a mapping"},
		{"GPUs on what takes none", gcp("instance_type: {machine_type: e2-standard-4, gpu_type: nvidia-tesla-t4, gpu_num: 1}"), "instance_type.gpu_num: machine type e2-standard-4 does not support GPUs"},
		{"other GPUs than are brought", gcp("instance_type: {machine_type: a2-highgpu-4g, gpu_num: 2}"), "instance_type.gpu_num: must be 4, the number of built-in GPUs of machine type a2-highgpu-4g (is 2)"},
		{"another type of GPU than is brought", gcp("instance_type: {machine_type: g2-standard-8, gpu_type: nvidia-tesla-t4}"), "instance_type.gpu_type: must be nvidia-l4, the built-in GPU of machine type g2-standard-8"},
		{"unknown GPUs", gcp("instance_type: {machine_type: a4-new-8}"), "instance_type.gpu_num: is required: the number of GPUs of machine type a4-new-8 is unknown"},
		{"machines of other sizes", gcp("instance_types: [{machine_type: n1-standard-8, gpu_num: 1}, {machine_type: g2-standard-24}]"), "instance_types[1]: must have as many slots as the first (1, not 2)"},
		{"a machine of a list without its type", gcp("instance_types: [{gpu_num: 1}]"), `instance_types[0].machine_type: must be a machine type such as n1-standard-8 (is "")`},
		{"one zone and many", gcp("zone: us-west1-b, zones: [us-west1-a]"), "zones: excludes zone; keep one"},
		{"a region as a zone", gcp("zone: us-west1"), `zone: must be a zone such as us-west1-b (is "us-west1")`},
		{"a zone twice", gcp("zones: [us-west1-b, us-west1-b]"), `zones[1]: is given twice ("us-west1-b")`},
		{"a price for spot", gcp("spot: {max_price: '1'}"), "spot.max_price: is for AWS"},
		{"a name's beginning", gcp("name_prefix: Det"), "name_prefix: must begin with a lowercase letter"},
		{"a label with capitals", gcp("labels: {Team: a}"), "labels.Team: label Team=a: must have at most 63 lowercase letters"},
		{"a label's value with a dot", gcp("label_value: a.b"), "label_value: must have only lowercase letters"},
		{"a label that is ours", gcp("label_key: det-deploy-pool"), "label_key: is a reserved label"},
		{"no label", gcp("label_key: ''"), "label_key: is required"},
		{"a network tag", gcp("network_tags: [A]"), "network_tags[0]: must begin with a lowercase letter"},
		{"a log's name", gcp("use_cloud_logging: true, log: a b"), "log: must have only letters"},
		{"a mistyped key of Google's, with its line", pool("  provider:\n    type: gcp\n    base_config:\n      disks:\n      - source: x\n        autoDelet: false"), "master.yaml:8: resource_pools[0].provider.base_config.disks[0].autoDelet: unknown key (did you mean autoDelete?)"},
		{"a second startup script", gcp("base_config: {metadata: {items: [{key: startup-script, value: x}]}}"), "base_config.metadata.items[0]: startup-script is reserved (use provider.startup_script for startup scripts)"},
		{"a disk of another zone", gcp("zones: [us-west1-a, us-west1-b], base_config: {disks: [{source: zones/us-west1-b/disks/d}]}"), "base_config.disks: are in zone us-west1-b, so machines cannot be in us-west1-a"},
		{"spot by the back door", gcp("base_config: {scheduling: {preemptible: true}}"), "base_config.scheduling: Spot VMs are configured by the pool (set provider.spot)"},
		{"two projects", "resource_pools: [{pool_name: default, provider: {type: gcp, project: project-a}}, {pool_name: b, provider: {type: gcp}}, {pool_name: c, provider: {type: gcp, project: project-b}}]", `resource_pools[2].provider.project: must be that of the other pools ("project-a", not "project-b")`},
		{"two accounts", gcp("service_account: {email: a@x}, base_config: {serviceAccounts: [{email: b@x}]}"), "base_config.serviceAccounts: an instance has at most one service account"},
		{"a label of base_config that is ours", gcp("base_config: {labels: {det-deploy-cluster: x}}"), "base_config.labels.det-deploy-cluster: is reserved"},
		{"proxies of local machines", pool("  provider: {type: local, proxy: {https_proxy: 'http://p:1'}}"), "provider.proxy: has no effect on processes"},
		{"failure rate", pool("  provider: {type: local, failure_rate: 2}"), "failure_rate: must be between 0 and 1"},
		{"start delay", pool("  provider: {type: local, start_delay: -1s}"), "start_delay: must be at least 0"},
		{"Kubernetes slot size", "resource_manager: {type: kubernetes}", "resource_manager.max_slots_per_pod: is required, here or in task_container_defaults.kubernetes"},
		{"Kubernetes slot size twice", k8s("slot_type: cuda") + "\ntask_container_defaults: {kubernetes: {max_slots_per_pod: 1}}", "and not in both"},
		{"Kubernetes slot type", k8s("slot_type: tpu"), "resource_manager.slot_type: must be one of cuda, gpu, rocm, cpu"},
		{"Kubernetes CPU slots", k8s("slot_type: cpu"), "slot_resource_requests.cpu: must be more than 0 with slot_type cpu"},
		{"Kubernetes scheduler", k8s("default_scheduler: volcano"), "default_scheduler: must be one of , coscheduler"},
		{"gateway ports", gateway("gateway_port_range_start: 80"), "gateway_port_range_start: must be between 1025 and 65535 (is 80)"},
		{"gateway ports in order", gateway("gateway_port_range_end: 1026"), "gateway_port_range_end: must be between gateway_port_range_start and 65535"},
		{"additional agents", "additional_resource_managers: [{resource_manager: {type: agent, cluster_name: b}, resource_pools: [{pool_name: b}]}]", "additional_resource_managers[0].resource_manager.type: must be kubernetes"},
		{"additional without pools", "additional_resource_managers: [{resource_manager: {type: kubernetes, cluster_name: b}}]", "additional_resource_managers[0].resource_pools: must have at least one pool"},
		{"additional of the same name", "additional_resource_managers: [{resource_manager: {type: kubernetes}, resource_pools: [{pool_name: b}]}]", "cluster_name: must be unique"},
		{"shared memory", tcd("shm_size_bytes: 4x"), "shm_size_bytes: must be more than 0 bytes"},
		{"no shared memory", tcd("shm_size_bytes: 0"), "shm_size_bytes: must be more than 0 bytes"},
		{"port range", tcd("nccl_port_range: '5:4'"), "nccl_port_range: must be min:max"},
		{"device text", tcd("devices: ['a:b:c:d']"), "devices[0]: must be host:container:mode"},
		{"device mode", tcd("devices: ['/dev/a:/dev/b:x']"), "devices[0].mode: must consist of m, r and w"},
		{"bind mount", tcd("bind_mounts: [{host_path: a, container_path: b}]"), "bind_mounts[0].host_path: must be absolute"},
		{"propagation", tcd("bind_mounts: [{host_path: /a, container_path: b, propagation: up}]"), "bind_mounts[0].propagation: must be one of"},
		{"log policy", tcd("log_policies: [{name: n, pattern: '('}]"), "log_policies[0].pattern: must be a regular expression"},
		{"log action", tcd("log_policies: [{name: n, action: panic}]"), "log_policies[0].action: must be one of"},
		{"pod spec", tcd("cpu_pod_spec: text"), "cpu_pod_spec: must be a mapping"},
		{"image key", tcd("image: {tpu: x}"), "image.tpu: unknown key"},
		{"image twice", tcd("image: {gpu: x, cuda: y}"), "has both gpu and cuda"},
		{"environment", tcd("environment_variables: X=1"), "environment_variables: must be a list of NAME=value, or a mapping"},
		{"storage type", "checkpoint_storage: {type: ftp}", "checkpoint_storage.type: must be one of shared_fs, s3, gcs, azure, directory"},
		{"storage outside", "checkpoint_storage: {type: shared_fs, host_path: /a, storage_path: ../b}", "storage_path: must be inside host_path (/b is not inside /a)"},
		{"storage beside", "checkpoint_storage: {type: shared_fs, host_path: /a, storage_path: /ab}", "must be inside host_path"},
		{"storage without path", "checkpoint_storage: {type: shared_fs}", "host_path: is required and must be absolute"},
		{"storage that no task may mount", "checkpoint_storage: {type: shared_fs, host_path: /var}", "checkpoint_storage.host_path: exposes /var/lib/docker, which no task may mount"},
		{"bucket", "checkpoint_storage: {type: s3}", "checkpoint_storage.bucket: is required"},
		{"prefix", "checkpoint_storage: {type: gcs, bucket: b, prefix: a/../b}", "checkpoint_storage.prefix: must not contain .."},
		{"key without secret", "checkpoint_storage: {type: s3, bucket: b, access_key: a}", "secret_key: must be set together with access_key"},
		{"azure with neither", "checkpoint_storage: {type: azure, container: c}", "exactly one of connection_string and account_url"},
		{"azure with both", "checkpoint_storage: {type: azure, container: c, connection_string: s, account_url: u}", "exactly one of"},
		{"azure credential", "checkpoint_storage: {type: azure, container: c, connection_string: s, credential: x}", "credential: is only for account_url"},
		{"directory", "checkpoint_storage: {type: directory, container_path: a}", "container_path: must be absolute"},
		{"saved", "checkpoint_storage: {type: gcs, bucket: b, save_trial_best: -1}", "checkpoint_storage.save_trial_best: must be at least 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Parse([]byte(tc.yaml), "master.yaml")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
