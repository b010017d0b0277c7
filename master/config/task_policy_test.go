package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/policy"
)

func TestThePolicyOfAPool(t *testing.T) {
	t.Parallel()
	m := parsed(t, `
task_policy: {host_paths: [/data, {path: /sets, read_only: true}], capabilities: [SYS_PTRACE], root: false, max_memory: 1g}
task_container_defaults: {bind_mounts: [{host_path: /given, container_path: /g, read_only: true}], add_capabilities: [IPC_LOCK], devices: ['/dev/fuse'], network_mode: host}
checkpoint_storage: {type: shared_fs, host_path: /checkpoints}
resource_pools: [{pool_name: default}, {pool_name: b, task_policy: {host_paths: [], root: true, images: [registry.example.com/]}}]`)
	given := []policy.HostPath{{Path: "/given", ReadOnly: true}}
	want := policy.Policy{
		HostPaths:    append([]policy.HostPath{{Path: "/data"}, {Path: "/sets", ReadOnly: true}}, given...),
		Capabilities: []string{"SYS_PTRACE", "IPC_LOCK"}, Devices: []string{"/dev/fuse"}, HostNetwork: true, MaxMemory: 1 << 30, MaxProcesses: 4096,
		Storages: []policy.HostPath{{Path: "/checkpoints"}},
	}
	if diff := cmp.Diff(want, m.Policy(m.ResourcePools[0])); diff != "" {
		t.Errorf("the cluster's (-want +got):\n%s", diff)
	}
	want.HostPaths, want.Root, want.Images = given, true, []string{"registry.example.com/"}
	if diff := cmp.Diff(want, m.Policy(m.ResourcePools[1])); diff != "" {
		t.Errorf("the pool's own (-want +got):\n%s", diff)
	}
	if got := config.DefaultMaster().Policy(config.Pool{}); len(got.HostPaths)+len(got.Capabilities)+len(got.Devices) > 0 || !got.Root {
		t.Errorf("got %+v, want nothing allowed but root", got)
	}
}

func TestMachineLimitsAreTheExplicitOnes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy    string
		processes int64
		limits    string
	}{
		{"{}", 4096, ""},
		{"{max_processes: -1}", 0, ""},
		{"{max_processes: 100}", 100, "task_policy.max_processes"},
		{"{max_memory: 1g, max_processes: 4096}", 4096, "task_policy.max_memory task_policy.max_processes"},
	} {
		m := parsed(t, "task_policy: "+tc.policy+"\nresource_pools: [{pool_name: default}]")
		if got := m.Policy(m.ResourcePools[0]).MaxProcesses; got != tc.processes {
			t.Errorf("%s: got %d processes, want %d", tc.policy, got, tc.processes)
		}
		if got := strings.Join(m.TaskPolicy.MachineLimits(), " "); got != tc.limits {
			t.Errorf("%s: got %q, want %q", tc.policy, got, tc.limits)
		}
	}
}

func TestMinPriorityAllowsTheDefault(t *testing.T) {
	t.Parallel()
	const kubernetes = "resource_manager: {type: kubernetes, max_slots_per_pod: 1}\n"
	for text, want := range map[string]string{
		"task_policy: {min_priority: 42}":                                                                        "",
		"task_policy: {min_priority: 43}":                                                                        `task_policy.min_priority: must allow 42, the priority of jobs in resource pool "default" that name none`,
		"resource_pools: [{pool_name: a, task_policy: {min_priority: 60}}]":                                      "resource_pools[0].task_policy.min_priority: must allow 42",
		"task_policy: {min_priority: 60}\nresource_manager: {scheduler: {type: priority, default_priority: 70}}": "",
		"task_policy: {min_priority: 100}":                                                                       "task_policy.min_priority: must be between 1 and 99 (is 100)",
		"task_policy: {max_processes: -2}":                                                                       "task_policy.max_processes: must be at least 1, or -1 for no limit (is -2)",
		kubernetes + "task_policy: {min_priority: 50}":                                                           "",
		kubernetes + "task_policy: {min_priority: 49}":                                                           "task_policy.min_priority: must allow 50",
	} {
		got := ""
		if _, _, err := config.Parse([]byte(text), "master.yaml"); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
