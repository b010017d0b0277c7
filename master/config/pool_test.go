package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

func parsed(t *testing.T, yaml string) config.Master {
	t.Helper()
	m, _, err := config.Parse([]byte(yaml), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// In Determined 0.38.1, a pool's defaults always overrode the global settings.
func TestPoolOverridesOnlyItsSettings(t *testing.T) {
	t.Parallel()
	m := parsed(t, `
task_container_defaults: {network_mode: host, shm_size_bytes: 1g, force_pull_image: true, environment_variables: [A=1], image: {cpu: a, cuda: b}}
resource_pools: [{pool_name: default, task_container_defaults: {work_dir: /w, environment_variables: [B=2], image: {cuda: c}, force_pull_image: false}}]`)
	got := m.ResourcePools[0].EffectiveTaskContainer(m.TaskContainerDefaults)
	if got.NetworkMode != "host" || got.ShmSize != 1<<30 || got.WorkDir != "/w" || *got.ForcePullImage {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(got.Environment.CUDA, []string{"A=1", "B=2"}); diff != "" {
		t.Error(diff)
	}
	if want := (container.Images{CPU: "a", CUDA: "c"}); got.Image != want {
		t.Errorf("got images %+v, want %+v", got.Image, want)
	}
	if *m.TaskContainerDefaults.ForcePullImage != true {
		t.Error("the global setting was changed")
	}
}

func TestPoolReplacesTheScheduler(t *testing.T) {
	t.Parallel()
	m := parsed(t, `
resource_manager: {scheduler: {preemption: true, default_priority: 7}}
resource_pools: [{pool_name: default}, {pool_name: b, scheduler: {type: round_robin, fitting_policy: worst}}]`)
	rm := *m.ResourceManager.Agent
	if got := m.ResourcePools[0].EffectiveScheduler(rm); !got.Preemption || got.DefaultPriority != 7 {
		t.Errorf("got %+v, want that of the resource manager", got)
	}
	if got := m.ResourcePools[1].EffectiveScheduler(rm); got.Preemption || got.DefaultPriority != 42 || got.Policy != config.FitWorst {
		t.Errorf("got %+v, want equal priorities and worst", got)
	}
}

func local(settings string) string {
	return "resource_pools: [{pool_name: default, provider: {type: local, " + settings + "}}]"
}

func gcp(settings string) string {
	return "resource_pools: [{pool_name: default, provider: {type: gcp, " + settings + "}}]"
}

func TestUnbuiltAndWarnings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, yaml, unbuilt, warning string }{
		{"nothing", "cluster_name: x", "", ""},
		{"a switch that is the default", "feature_switches: [prevent_blank_password]", "", ""},
		{"a switch", "feature_switches: [task_templates]", "feature_switches[0]", ""},
		{"Kubernetes", "resource_manager: {type: kubernetes, max_slots_per_pod: 1}", "", ""},
		{
			"pod specs on Kubernetes", "{resource_manager: {type: kubernetes}, task_container_defaults: " +
				"{gpu_pod_spec: {a: b}, cpu_pod_spec: {a: b}, kubernetes: {max_slots_per_pod: 2}}}", "", "",
		},
		{
			"a pod spec of checkpoint deletion", "{resource_manager: {type: kubernetes, max_slots_per_pod: 1}, task_container_defaults: " +
				"{checkpoint_gc_pod_spec: {a: b}}}", "", "",
		},
		{
			"a pod spec of checkpoint deletion on agents", "task_container_defaults: {checkpoint_gc_pod_spec: {a: b}}",
			"task_container_defaults.checkpoint_gc_pod_spec", "",
		},
		{
			"a gateway", "resource_manager: {type: kubernetes, max_slots_per_pod: 1, internal_task_gateway: " +
				"{gateway_name: g, gateway_namespace: n, gateway_ip: 10.0.0.1}}", "resource_manager.internal_task_gateway", "",
		},
		{
			"what belongs to agents on Kubernetes", "{resource_manager: {type: kubernetes, max_slots_per_pod: 1}, resource_pools: " +
				"[{pool_name: default, scheduler: {type: priority}}]}", "resource_pools[0].scheduler", "",
		},
		{
			"what nodes decide on Kubernetes", "{resource_manager: {type: kubernetes, max_slots_per_pod: 1}, resource_pools: " +
				"[{pool_name: default, max_aux_containers_per_agent: 3}]}", "", "resource_pools[0].max_aux_containers_per_agent",
		},
		{
			"a pool that grows on Kubernetes", "{resource_manager: {type: kubernetes, max_slots_per_pod: 1}, resource_pools: " +
				"[{pool_name: default, autoscaled: true}]}", "", "",
		},
		{"a mount that is allowed", "task_container_defaults: {bind_mounts: [{host_path: /data, container_path: /d}]}", "", ""},
		{
			"a mount of the engine's socket", "task_container_defaults: {bind_mounts: [{host_path: /data, container_path: /a}, {host_path: /var/run/docker.sock, container_path: /b}]}",
			"", "task_container_defaults.bind_mounts[1].host_path",
		},
		{
			"a mount of what holds the data directory", "{data_dir: /srv/det/master, task_container_defaults: {bind_mounts: [{host_path: /srv, container_path: /s}]}}",
			"", "task_container_defaults.bind_mounts[0].host_path",
		},
		{
			"a pool's mount of the root", "resource_pools: [{pool_name: default, task_container_defaults: {bind_mounts: [{host_path: /, container_path: /h}]}}]",
			"", "resource_pools[0].task_container_defaults.bind_mounts[0].host_path",
		},
		{
			"a guarded device", "task_container_defaults: {devices: [{host_path: /proc/kcore, container_path: /dev/k, mode: r}]}",
			"", "task_container_defaults.devices[0].host_path",
		},
		{"a pool of agents that grows", "resource_pools: [{pool_name: default, autoscaled: true}]", "resource_pools[0].autoscaled", ""},
		{"the size of pods on agents", "task_container_defaults: {kubernetes: {max_slots_per_pod: 2}}", "task_container_defaults.kubernetes.max_slots_per_pod", ""},
		{"GCP", gcp(""), "", ""},
		{"a machine beside many", gcp("instance_type: {machine_type: n1-standard-4}, instance_types: [{machine_type: n1-standard-8}]"), "", "resource_pools[0].provider.instance_type.machine_type"},
		{"a log that is not used", gcp("log: x"), "", "resource_pools[0].provider.log"},
		{"a log", gcp("log: x, use_cloud_logging: true, service_account: {email: a@x}"), "", ""},
		{"a log of machines without an account", gcp("use_cloud_logging: true"), "", "resource_pools[0].provider.use_cloud_logging"},
		{"metrics of machines without an account", gcp("metrics: true"), "", "resource_pools[0].provider.metrics"},
		{"metrics of an account of base_config", gcp("metrics: true, base_config: {serviceAccounts: [{email: default}]}"), "", ""},
		{"scopes of no account", gcp("service_account: {scopes: ['https://x']}"), "", "resource_pools[0].provider.service_account.scopes"},
		{"a second machine type", gcp("base_config: {machineType: e2-medium}"), "", "resource_pools[0].provider.base_config.machineType"},
		{"GPUs set twice", gcp("base_config: {guestAccelerators: [{acceleratorCount: 1, acceleratorType: nvidia-tesla-t4}]}"), "", "resource_pools[0].provider.base_config.guestAccelerators"},
		{"GPUs of base_config", gcp("instance_type: {gpu_type: ''}, base_config: {guestAccelerators: [{acceleratorCount: 1, acceleratorType: nvidia-tesla-t4}]}"), "", ""},
		{
			"AWS without what its machines need", "resource_pools: [{pool_name: default, provider: {type: aws, ssh_key_name: k}}]",
			"resource_pools[0].provider.image_idresource_pools[0].provider.iam_instance_profile_arn", "",
		},
		{"AWS", "resource_pools: [{pool_name: default, provider: {type: aws, image_id: a, iam_instance_profile_arn: b}}]", "", ""},
		{
			"a log stream", "resource_pools: [{pool_name: default, provider: {type: aws, image_id: a, iam_instance_profile_arn: b, log_stream: s}}]",
			"", "resource_pools[0].provider.log_stream",
		},
		{"an image of agents", local("agent_docker_image: i"), "", "resource_pools[0].provider.agent_docker_image"},
		{"retries of an error that is forgotten", local("launch_error_retries: 2"), "", "resource_pools[0].provider.launch_error_retries"},
		{"retries of an error", local("launch_error_retries: 2, launch_error_timeout: 5m"), "", ""},
		{"a certificate's name without TLS", local("master_url: 'http://h', master_cert_name: n"), "", "resource_pools[0].provider.master_cert_name"},
		{"a certificate's name", local("master_url: 'https://h', master_cert_name: n"), "", ""},
		{"attempts of agents that keep trying", local("agent_reconnect_attempts: 9"), "", "resource_pools[0].provider.agent_reconnect_attempts"},
		{
			"attempts of agents that give up", local("agent_reconnect_attempts: 9, agent_config_file_contents: {hooks: {on_connection_lost: [poweroff]}}"),
			"", "",
		},
		{
			"one type beside many", "resource_pools: [{pool_name: default, provider: {type: aws, image_id: a, iam_instance_profile_arn: b, " +
				"instance_type: p2.xlarge, instance_types: [p3.2xlarge]}}]", "", "resource_pools[0].provider.instance_type",
		},
		{"a pod spec", "task_container_defaults: {gpu_pod_spec: {a: b}}", "task_container_defaults.gpu_pod_spec", ""},
		{"an empty pod spec", "task_container_defaults: {gpu_pod_spec: {}}", "", ""},
		{"elastic", "logging: {type: elastic, host: h, port: 1}", "logging.type", ""},
		{"retention", "retention_policy: {log_retention_days: 3}", "", ""},
		{"a schedule of retention", "retention_policy: {schedule: 24h}", "retention_policy.schedule", ""},
		{"retention for ever", "retention_policy: {log_retention_days: -1}", "", ""},
		{"SCIM", "scim: {enabled: true}", "scim", ""},
		{"proxied servers", "__internal: {proxied_servers: [{destination: d, path_prefix: p}]}", "__internal.proxied_servers", ""},
		{"client CA", "resource_manager: {client_ca: /ca}", "resource_manager.client_ca", ""},
		{"webhooks", "webhooks: {base_url: 'http://x'}", "webhooks.base_url", ""},
		{"round robin", "resource_manager: {scheduler: {type: round_robin}}", "", "resource_manager.scheduler.type"},
		{"a web UI's files", "root: /x", "", "root"},
		{"telemetry", "telemetry: {enabled: true}", "", "telemetry.enabled"},
		{"one password for both users", "security: {initial_user_password: Hunter2x}", "", ""},
		{"open to sites without their names", "enable_cors: true", "", "enable_cors"},
		{"open to a site", "{enable_cors: true, cors_origins: ['https://portal.example.com']}", "", ""},
		{"keys of shells", "security: {ssh: {key_type: RSA, rsa_key_size: 2048}}", "", "security.ssh"},
		{"where experiments store", "checkpoint_storage: {type: directory, container_path: /c}", "", ""},
		{
			"one task on unlike agents", "resource_manager: {scheduler: {type: priority, allow_heterogeneous_fits: true}}",
			"resource_manager.scheduler.allow_heterogeneous_fits", "",
		},
		{
			"unlike agents in one pool", "resource_pools: [{pool_name: default, scheduler: {type: priority, allow_heterogeneous_fits: true}}]",
			"resource_pools[0].scheduler.allow_heterogeneous_fits", "",
		},
		{"reattaching", "resource_pools: [{pool_name: default, agent_reattach_enabled: true}]", "", "resource_pools[0].agent_reattach_enabled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, warnings, err := config.Parse([]byte(tc.yaml), "master.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var unbuilt, warning string
			for _, p := range config.Unbuilt(m) {
				unbuilt += p.Path
			}
			for _, p := range warnings {
				warning += p.Path
			}
			if unbuilt != tc.unbuilt || warning != tc.warning {
				t.Errorf("got unbuilt %q and warning %q, want %q and %q", unbuilt, warning, tc.unbuilt, tc.warning)
			}
		})
	}
}

func TestSlotsOfInstances(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		instance string
		slots    int
		known    bool
	}{
		{"p3.8xlarge", 4, true},
		{"g4dn.metal", 8, true},
		{"p2.16xlarge", 16, true},
		{"g5.xlarge", 1, true},
		{"t2.medium", 0, true},
		{"t2.nano", 0, false},
		{"p9.xlarge", 0, false},
		{"", 0, false},
	} {
		if slots, known := provider.AWSSlots(tc.instance); slots != tc.slots || known != tc.known {
			t.Errorf("%s: got %d, %v; want %d, %v", tc.instance, slots, known, tc.slots, tc.known)
		}
	}
	cpu := provider.AWS{CPUSlotsAllowed: true}
	if slots, ok := cpu.Slots("m5.large"); slots != 1 || !ok {
		t.Errorf("got %d slots, want 1 for CPUs", slots)
	}
}

func TestAgentReconnectWait(t *testing.T) {
	t.Parallel()
	_, _, err := config.Parse([]byte("resource_pools: [{pool_name: default, agent_reconnect_wait: 0s}]"), "master.yaml")
	if err == nil || !strings.Contains(err.Error(), "resource_pools[0].agent_reconnect_wait: must be more than 0") {
		t.Errorf("got %v: the file would be valid, and the master not start", err)
	}
	_, _, err = config.Parse([]byte("resource_manager: {type: kubernetes, max_slots_per_pod: 1}\nresource_pools: [{pool_name: default, agent_reconnect_wait: 0s}]"), "master.yaml")
	if err != nil {
		t.Errorf("got %v, want that pods have no agents to wait for", err)
	}
}
