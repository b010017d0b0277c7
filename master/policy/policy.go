// Package policy is what tasks may do to the machines they run on. It judges what a
// task asks for, field by field, and knows nothing of how it was asked: commands and
// pods both come here as Asked. Everything in it is a pure function.
package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Policy is what the tasks of one resource pool may do. The zero Policy allows
// nothing but a task in a container of its own that does not run as root.
type Policy struct {
	// Free is an administrator's: only what no user may have is refused.
	Free bool
	// HostPaths may be mounted, and everything below them.
	HostPaths []HostPath
	// Storages are directories of checkpoint storages. Only the cluster mounts what is below them, for an
	// experiment its own directory. Masters judge by it; it is not sent.
	Storages []HostPath
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
	p.Storages = slices.Concat(p.Storages, more.Storages)
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

// ForStorage is p for a task whose checkpoints are at mounts of the cluster's: it allows exactly those
// that p lets the cluster mount.
func (p Policy) ForStorage(mounts []*agentv1.Mount) Policy {
	var own Policy
	for _, m := range mounts {
		asked := storageMount(m)
		if h, found := p.findMount(path.Clean(asked.Path), asked.Storage); found && (!h.ReadOnly || asked.ReadOnly) {
			own.HostPaths = append(own.HostPaths, HostPath{Path: asked.Path, ReadOnly: asked.ReadOnly, Shared: h.Shared})
		}
	}
	return p.Allow(own)
}

// findMount finds the entry that lets a path be mounted, by the cluster as a checkpoint storage or by a
// user. When only one that is read-only does, found is true and the entry says so.
func (p Policy) findMount(host string, storage bool) (best HostPath, found bool) {
	all := p.HostPaths
	if storage {
		all = slices.Concat(all, p.Storages)
	}
	for _, h := range all {
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

// isStorage reports whether a path is in a checkpoint storage.
func (p Policy) isStorage(host string) bool {
	return slices.ContainsFunc(p.Storages, func(h HostPath) bool { return Below(h.Path, host) })
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
