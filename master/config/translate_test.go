package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
)

func TestOldFormsReadAsNewOnes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, old, now, warning string }{
		{
			"a scheduler", "scheduler: {type: priority, fit: worst, resource_provider: {type: default, default_cpu_resource_pool: x}}",
			"resource_manager: {type: agent, scheduler: {type: priority, fitting_policy: worst}}", "scheduler: is now resource_manager.scheduler",
		},
		{
			"a scheduler without type", "scheduler: {preemption: true}",
			"resource_manager: {type: agent, scheduler: {type: priority, preemption: true}}", "is now resource_manager.scheduler",
		},
		{
			"a scheduler on Kubernetes", "scheduler: {resource_provider: {type: kubernetes, max_slots_per_pod: 4, determined_master_ip: m}}",
			"resource_manager: {type: kubernetes, max_slots_per_pod: 4, determined_master_host: m}", "determined_master_ip: is the old name",
		},
		{
			"a provisioner on Google Cloud", "provisioner: {provider: gcp, zone: us-west1-b}",
			"resource_pools: [{pool_name: default, provider: {type: gcp, zone: us-west1-b}}]", "provisioner: is now resource_pools[0].provider",
		},
		{
			"aux containers", "resource_pools: [{pool_name: default, max_cpu_containers_per_agent: 3}]",
			"resource_pools: [{pool_name: default, max_aux_containers_per_agent: 3}]", "is the old name of max_aux_containers_per_agent",
		},
		{
			"the most slots of a pool", "resource_pools: [{pool_name: default, max_slots: 8}]",
			"resource_pools: [{pool_name: default}]", "resource_pools[0].max_slots: has no effect",
		},
		{
			"a namespace of a pool", "resource_pools: [{pool_name: default, kubernetes_namespace: x}]",
			"resource_pools: [{pool_name: default}]", "resource_pools[0].kubernetes_namespace: has no effect",
		},
		{
			"a name of the resource manager", "resource_manager: {type: agent, name: lab}",
			"resource_manager: {type: agent, cluster_name: lab}", "resource_manager.name: is the old name of cluster_name",
		},
		{
			"a name of the resource manager beside the same new one", "resource_manager: {type: agent, name: lab, cluster_name: lab}",
			"resource_manager: {type: agent, cluster_name: lab}", "resource_manager.name: is the old name of cluster_name",
		},
		{
			"default pools", "resource_manager: {default_cpu_resource_pool: a, default_gpu_resource_pool: b}\nresource_pools: [{pool_name: a}, {pool_name: b}]",
			"resource_manager: {default_aux_resource_pool: a, default_compute_resource_pool: b}\nresource_pools: [{pool_name: a}, {pool_name: b}]", "is the old name",
		},
		{
			"preemption timeout", "__internal: {preemption_timeout: 60}",
			"task_container_defaults: {preemption_timeout: 60}", "__internal.preemption_timeout: is now task_container_defaults.preemption_timeout",
		},
		{
			"the only pool", "resource_pools: [{pool_name: gpu}]",
			"resource_manager: {default_aux_resource_pool: gpu, default_compute_resource_pool: gpu}\nresource_pools: [{pool_name: gpu}]", "",
		},
		{
			"the only pool on Kubernetes", "resource_manager: {type: kubernetes, max_slots_per_pod: 1}\nresource_pools: [{pool_name: gpu}]",
			"resource_manager: {type: kubernetes, max_slots_per_pod: 1, default_aux_resource_pool: gpu, default_compute_resource_pool: gpu}\nresource_pools: [{pool_name: gpu}]", "",
		},
		{
			"a namespace", "resource_manager: {type: kubernetes, max_slots_per_pod: 1, namespace: n}",
			"resource_manager: {type: kubernetes, max_slots_per_pod: 1, default_namespace: n}", "resource_manager.namespace: is the old name of default_namespace",
		},
		{
			"a namespace of a resource provider", "scheduler: {resource_provider: {type: kubernetes, max_slots_per_pod: 1, namespace: n}}",
			"resource_manager: {type: kubernetes, max_slots_per_pod: 1, default_namespace: n}", "namespace: is the old name of default_namespace",
		},
		{"Hasura", "hasura: {secret: s, address: a}", "{}", "hasura: has no effect"},
		{"a database's migrations", "db: {migrations: file://m, views_and_triggers: v}", "{}", "db.migrations: has no effect"},
		{"a fluent image", "resource_manager: {type: kubernetes, max_slots_per_pod: 1, fluent: {image: f}}", "resource_manager: {type: kubernetes, max_slots_per_pod: 1}", "resource_manager.fluent: has no effect"},
		{
			"an image for GPUs", "task_container_defaults: {image: {gpu: x}}", "task_container_defaults: {image: {cuda: x}}", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := config.Parse([]byte(tc.old), "master.yaml")
			if err != nil {
				t.Fatal(err)
			}
			want, none, err := config.Parse([]byte(tc.now), "master.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("(-old +new):\n%s", diff)
			}
			text := ""
			for _, w := range warnings {
				text += w.String() + "\n"
				if w.Line != 1 {
					t.Errorf("got line %d for %v, want 1", w.Line, w)
				}
			}
			if !strings.Contains(text, tc.warning) || len(none) != 0 {
				t.Errorf("got warnings %q and %v, want %q and none", text, none, tc.warning)
			}
		})
	}
}

func TestContradictoryOldForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, yaml, want string }{
		{"old beside new", "resource_pools: []\nprovisioner: {provider: aws}", "master.yaml:2: provisioner: is an old form and cannot be combined with resource_pools (line 1)"},
		{"an old scheduler beside a new manager", "scheduler: {}\nresource_manager: {}", "scheduler: is an old form and cannot be combined with resource_manager"},
		{"old and new key", "resource_pools: [{pool_name: default, max_cpu_containers_per_agent: 7, max_aux_containers_per_agent: 3}]", "is the old name of max_aux_containers_per_agent, which is also given"},
		{"a provisioner without provider", "provisioner: {region: x}", "provisioner.provider: is required"},
		{"a provisioner that is a text", "provisioner: x", "provisioner: must be a mapping"},
		{"a scheduler that is a text", "scheduler: x", "scheduler: must be a mapping"},
		{"an unknown resource provider", "scheduler: {resource_provider: {type: mesos}}", "scheduler.resource_provider.type: must be default or kubernetes"},
		{"an error inside keeps its line", "provisioner:\n  provider: aws\n  ssh_key_name: k\n  max_instances: 0\n", "master.yaml:4: resource_pools[0].provider.max_instances: must be more than 0"},
		{"preemption timeout twice", "__internal: {preemption_timeout: 1}\ntask_container_defaults: {preemption_timeout: 2}", "which is also given"},
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
