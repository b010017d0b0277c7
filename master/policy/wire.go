package policy

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// API converts the policy to a message; it returns nil for a free policy.
func (p Policy) API() *apiv1.TaskPolicy {
	if p.Free {
		return nil
	}
	out := &apiv1.TaskPolicy{
		Capabilities: p.Capabilities, Devices: p.Devices, Privileged: p.Privileged,
		HostNetwork: p.HostNetwork, HostPid: p.HostPID, HostIpc: p.HostIPC, Root: p.Root,
		Images: p.Images, MaxShmSize: p.MaxShm, MaxMemory: p.MaxMemory,
		MinPriority: int32(p.MinPriority), MaxProcesses: p.MaxProcesses,
	}
	for _, h := range p.HostPaths {
		out.HostPaths = append(out.HostPaths, &apiv1.TaskPolicy_HostPath{Path: h.Path, ReadOnly: h.ReadOnly, Shared: h.Shared})
	}
	return out
}

// FromAPI is the inverse of API.
func FromAPI(m *apiv1.TaskPolicy) Policy {
	if m == nil {
		return Policy{Free: true}
	}
	p := Policy{
		Capabilities: m.GetCapabilities(), Devices: m.GetDevices(), Privileged: m.GetPrivileged(),
		HostNetwork: m.GetHostNetwork(), HostPID: m.GetHostPid(), HostIPC: m.GetHostIpc(), Root: m.GetRoot(),
		Images: m.GetImages(), MaxShm: m.GetMaxShmSize(), MaxMemory: m.GetMaxMemory(),
		MinPriority: int(m.GetMinPriority()), MaxProcesses: m.GetMaxProcesses(),
	}
	for _, h := range m.GetHostPaths() {
		p.HostPaths = append(p.HostPaths, HostPath{Path: h.GetPath(), ReadOnly: h.GetReadOnly(), Shared: h.GetShared()})
	}
	return p
}

// OfSpec returns the requests of a container's spec, with the fields of the configuration from
// which it was built.
func OfSpec(s *agentv1.Spec) Asked {
	a := Asked{
		Images: []Text{{"environment.image", s.GetImage()}},
		Users:  []User{{"user", int64(s.GetUser().GetUid())}},
		Shm:    []Amount{{"resources.shm_size", s.GetShmSize()}},
	}
	for i, m := range s.GetMounts() {
		mount := storageMount(m)
		if !mount.Storage {
			mount.Field = index("bind_mounts", i, ".host_path")
		}
		a.Mounts = append(a.Mounts, mount)
	}
	for i, d := range s.GetDevices() {
		a.Devices = append(a.Devices, Text{index("resources.devices", i, ".host_path"), d.GetHostPath()})
	}
	for i, c := range s.GetAddCapabilities() {
		a.Capabilities = append(a.Capabilities, Text{index("environment.add_capabilities", i, ""), c})
	}
	if s.GetNetworkMode() == "host" {
		a.HostNetwork = []string{"task_container_defaults.network_mode"}
	}
	return a
}

// storageMount converts a mount of a checkpoint storage.
func storageMount(m *agentv1.Mount) Mount {
	return Mount{
		Field: "checkpoint_storage.host_path", Path: m.GetHostPath(), ReadOnly: m.GetReadOnly(),
		Propagation: m.GetPropagation(), Storage: m.GetStorage() != "",
	}
}

func index(list string, i int, rest string) string { return fmt.Sprintf("%s[%d]%s", list, i, rest) }
