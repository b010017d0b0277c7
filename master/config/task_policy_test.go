package config_test

import (
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
		Capabilities: []string{"SYS_PTRACE", "IPC_LOCK"}, Devices: []string{"/dev/fuse"}, HostNetwork: true, MaxMemory: 1 << 30,
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
