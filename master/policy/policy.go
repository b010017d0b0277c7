// Package policy is what tasks may do to the machines they run on. It judges what a
// task asks for, field by field, and knows nothing of how it was asked: commands and
// pods both come here as Asked. Everything in it is a pure function.
package policy

import (
	"path"
	"slices"
	"strings"
)

// Policy is what the tasks of one resource pool may do. The zero Policy allows
// nothing but a task in a container of its own that does not run as root.
type Policy struct {
	// Free is an administrator's: only what no user may have is refused.
	Free bool
	// HostPaths may be mounted, and everything below them.
	HostPaths []HostPath
	// Capabilities may be added; they are written without CAP_.
	Capabilities []string
	// Devices may be opened: a device, or a directory of devices.
	Devices                       []string
	Privileged                    bool
	HostNetwork, HostPID, HostIPC bool
	// DeniesHostNetwork keeps the machine's network even from tasks that the cluster would
	// put there itself. Masters judge by it; it is not sent.
	DeniesHostNetwork bool
	// Root lets programs run as root inside their containers.
	Root bool
	// Images are the beginnings of the images that may run; none means all.
	Images []string
	// MaxShm and MaxMemory are in bytes; 0 is no limit.
	MaxShm, MaxMemory int64
}

// HostPath is a directory or file of the machine that may be mounted.
type HostPath struct {
	Path string
	// ReadOnly says that it may be mounted to be read only.
	ReadOnly bool
	// Shared lets mounts spread between the machine and the task.
	Shared bool
}

// Default is the policy of a cluster whose administrator said nothing.
func Default() Policy { return Policy{Root: true} }

// ForPeers is p for a task whose containers on several machines find each other on the
// network of these, where the cluster puts them itself.
func (p Policy) ForPeers() Policy {
	p.HostNetwork = p.HostNetwork || !p.DeniesHostNetwork
	return p
}

// Allow is p with what the cluster itself gives to tasks, which is never refused.
// Amounts stay: what is given by default is cut to them.
func (p Policy) Allow(more Policy) Policy {
	p.HostPaths = slices.Concat(p.HostPaths, more.HostPaths)
	p.Capabilities = slices.Concat(p.Capabilities, more.Capabilities)
	p.Devices = slices.Concat(p.Devices, more.Devices)
	p.Privileged = p.Privileged || more.Privileged
	p.HostNetwork = p.HostNetwork || more.HostNetwork
	p.HostPID = p.HostPID || more.HostPID
	p.HostIPC = p.HostIPC || more.HostIPC
	if len(p.Images) > 0 {
		p.Images = slices.Concat(p.Images, more.Images)
	}
	return p
}

// findMount finds the entry that lets a path be mounted. When only one that is read-only
// does, found is true and the entry says so.
func (p Policy) findMount(host string) (best HostPath, found bool) {
	for _, h := range p.HostPaths {
		if !Below(h.Path, host) {
			continue
		}
		best = HostPath{
			Path: h.Path, ReadOnly: h.ReadOnly && (!found || best.ReadOnly), Shared: h.Shared || best.Shared,
		}
		found = true
	}
	return best, found
}

func (p Policy) findDevice(host string) bool {
	return slices.ContainsFunc(p.Devices, func(d string) bool { return Below(d, host) })
}

func (p Policy) findCapability(name string) bool {
	return slices.ContainsFunc(p.Capabilities, func(c string) bool {
		return Capability(c) == Capability(name) || Capability(c) == "ALL"
	})
}

func (p Policy) findImage(name string) bool {
	return len(p.Images) == 0 || slices.ContainsFunc(p.Images, func(prefix string) bool { return imageBegins(name, prefix) })
}

// Below reports whether a path is a directory or something in it. Both are paths of
// a machine; "..", "." and doubled slashes mean what they mean there.
func Below(dir, name string) bool {
	dir, name = path.Clean("/"+dir), path.Clean("/"+name)
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// Capability writes a capability as it is compared: capitals without CAP_.
func Capability(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "CAP_")
}
