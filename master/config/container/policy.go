package container

import "github.com/det-deploy/det-deploy/master/policy"

// Policy returns the policy that allows exactly what the defaults give to every task.
func (t Defaults) Policy() policy.Policy {
	p := policy.Policy{Capabilities: t.AddCapabilities, HostNetwork: t.NetworkMode == "host"}
	for _, b := range t.BindMounts {
		p.HostPaths = append(p.HostPaths, policy.HostPath{Path: b.HostPath, ReadOnly: b.ReadOnly, Shared: IsShared(b.Propagation)})
	}
	for _, d := range t.Devices {
		p.Devices = append(p.Devices, d.HostPath)
	}
	for _, image := range []string{t.Image.CPU, t.Image.CUDA, t.Image.ROCm} {
		if image != "" {
			p.Images = append(p.Images, image)
		}
	}
	return p
}

// IsShared reports whether mounts propagate between the machine and tasks.
func IsShared(propagation string) bool { return propagation == "rshared" || propagation == "shared" }
