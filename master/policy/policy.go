// Package policy decides which access to their machines tasks may request. It checks requests field
// by field; commands and pods both convert theirs to Asked. All functions are pure.
package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Policy is the policy of a pool's tasks. The zero Policy allows only tasks that run in their own
// container and not as root.
type Policy struct {
	// Free is for administrators: only requests that no user may make are rejected.
	Free bool
	// HostPaths may be mounted, with everything below them.
	HostPaths []HostPath
	// Storages are directories of checkpoint storages. Only the cluster mounts paths below them,
	// for an experiment its own directory. Only masters use it; it is not sent to agents.
	Storages []HostPath
	// Capabilities may be added; they are written without CAP_.
	Capabilities []string
	// Devices may be opened: a device, or a directory of devices.
	Devices                       []string
	Privileged                    bool
	HostNetwork, HostPID, HostIPC bool
	// DeniesHostNetwork forbids the machine's network even to tasks that the cluster would place
	// there itself. Only masters use it; it is not sent to agents.
	DeniesHostNetwork bool
	// Root allows programs to run as root inside their containers.
	Root bool
	// Images are the allowed prefixes of images; if it is empty, all are allowed.
	Images []string
	// MaxShm and MaxMemory are in bytes; 0 means no limit.
	MaxShm, MaxMemory int64
	// MaxProcesses is the number of processes and threads of a container; 0 means no limit.
	MaxProcesses int64
	// MinPriority is the most urgent priority of jobs; 0 means no limit. HighFirst reports that
	// higher numbers are more urgent. Only masters use it; it is not sent to agents.
	MinPriority int
	HighFirst   bool
}

// HostPath is a directory or file of the machine that may be mounted.
type HostPath struct {
	Path string
	// ReadOnly allows only read-only mounts.
	ReadOnly bool
	// Shared allows mounts to propagate between the machine and the task.
	Shared bool
}

// Default returns the policy of a cluster without configuration.
func Default() Policy { return Policy{Root: true} }

// ForPeers returns p for a task whose containers on several machines communicate over the machines'
// network, where the cluster places them itself.
func (p Policy) ForPeers() Policy {
	p.HostNetwork = p.HostNetwork || !p.DeniesHostNetwork
	return p
}

// Allow returns p extended by everything that the cluster itself gives to tasks. Amounts are
// unchanged, because defaults are cut to them.
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

// ForStorage returns p for a task with checkpoint mounts of the cluster. It allows exactly those of
// them that p allows.
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

// findMount merges the entries that allow a path to be mounted, by the cluster for checkpoints or by
// a user. The result is read-only only if all of them are.
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

// Below reports whether a path equals dir or is inside it. Both are cleaned first.
func Below(dir, name string) bool {
	dir, name = path.Clean("/"+dir), path.Clean("/"+name)
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// Capability returns the normalized name of a capability: upper case without CAP_.
func Capability(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "CAP_")
}
