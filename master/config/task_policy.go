package config

import (
	"path"
	"reflect"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/policy"
)

// TaskPolicy limits the access of tasks to their machines. It does not apply to administrators.
// task_container_defaults, and an experiment's own directory in checkpoint_storage, are always
// allowed. A zero value in a pool's settings inherits the global one.
type TaskPolicy struct {
	HostPaths    []HostPath       `yaml:"host_paths" doc:"Paths of the machine, including everything below them, that tasks may mount; none by default"`
	Capabilities []string         `yaml:"capabilities" doc:"Linux capabilities that tasks may add; none by default"`
	Devices      []string         `yaml:"devices" doc:"Devices of the machine, or directories of devices, that tasks may open; none by default"`
	Privileged   *bool            `yaml:"privileged" doc:"Tasks may run as privileged containers; Kubernetes only"`
	HostNetwork  *bool            `yaml:"host_network" doc:"Tasks may use their machine's network; when empty, only trials with containers on several machines; when false, not even those"`
	HostPID      *bool            `yaml:"host_pid" doc:"Pods may see the processes of their node"`
	HostIPC      *bool            `yaml:"host_ipc" doc:"Pods may use the shared memory of their node"`
	Root         *bool            `yaml:"root" doc:"Programs may run as root inside their containers; true by default"`
	Images       []string         `yaml:"images" doc:"Prefixes of allowed images, such as registry.example.com/team; by default all images"`
	MaxShm       document.Bytes   `yaml:"max_shm_size" doc:"Maximum shared memory of a container; no limit by default"`
	MaxMemory    document.Bytes   `yaml:"max_memory" doc:"Maximum memory of a container, which is also its limit; none by default"`
	MaxProcesses int64            `yaml:"max_processes" doc:"Maximum number of processes and threads of a container, -1 for no limit; 4096 by default. Kubernetes has no such setting of pods: set podPidsLimit of its kubelets"`
	MinPriority  int              `yaml:"min_priority" doc:"Most urgent priority that jobs may have: the lowest number, on Kubernetes the highest; no limit by default"`
	MaxGrace     document.Seconds `yaml:"max_grace_period" doc:"Kubernetes: maximum terminationGracePeriodSeconds of a task's pod spec, also for administrators, unless that of the pool is longer; 10 minutes by default"`
}

// HostPath is a path of the machine that tasks may mount.
type HostPath struct {
	Path     string `yaml:"path" doc:"Path of the machine"`
	ReadOnly bool   `yaml:"read_only" doc:"Tasks may not write"`
	Shared   bool   `yaml:"shared" doc:"Mounts may propagate between the machine and tasks (propagation rshared)"`
}

type hostPathObject HostPath

// UnmarshalDocument reads a path or an object.
func (h *HostPath) UnmarshalDocument(v document.Value) {
	if v.IsText() {
		h.Path = v.Text()
		return
	}
	var o hostPathObject
	if v.Decode(&o) {
		*h = HostPath(o)
	}
}

// MarshalDocument returns the object.
func (h HostPath) MarshalDocument() any { return hostPathObject(h) }

// DocumentShape implements document.Shaper.
func (HostPath) DocumentShape() string { return "path, or {path, read_only, shared}" }

// Overlay returns t overridden by the settings in over.
func (t TaskPolicy) Overlay(over TaskPolicy) TaskPolicy {
	to, from := reflect.ValueOf(&t).Elem(), reflect.ValueOf(over)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return t
}

// Validate checks all settings below at.
func (t TaskPolicy) Validate(at string) document.Errors {
	var e document.Errors
	for i, h := range t.HostPaths {
		here := document.Join(document.Index(document.Join(at, "host_paths"), i), "path")
		e.Check(path.IsAbs(h.Path), here, "must be absolute (is %q)", h.Path)
	}
	for i, d := range t.Devices {
		e.Check(path.IsAbs(d), document.Index(document.Join(at, "devices"), i), "must be absolute (is %q)", d)
	}
	for i, c := range t.Capabilities {
		e.Check(policy.Capability(c) != "", document.Index(document.Join(at, "capabilities"), i), "is empty")
	}
	for i, prefix := range t.Images {
		e.Check(prefix != "", document.Index(document.Join(at, "images"), i), "is empty; leave images out to allow all")
	}
	e.Check(t.MaxProcesses >= noLimit, document.Join(at, "max_processes"), "must be at least 1, or -1 for no limit (is %d)", t.MaxProcesses)
	e.Check(t.MinPriority >= 0 && t.MinPriority <= 99, document.Join(at, "min_priority"), "must be between 1 and 99 (is %d)", t.MinPriority)
	e.Check(t.MaxGrace >= 0, document.Join(at, "max_grace_period"), "must be at least 0 (is %v)", t.MaxGrace)
	return e
}

// Rules converts t to a policy.
func (t TaskPolicy) Rules() policy.Policy {
	p := policy.Default()
	for _, h := range t.HostPaths {
		p.HostPaths = append(p.HostPaths, policy.HostPath(h))
	}
	p.Capabilities, p.Devices, p.Images = t.Capabilities, t.Devices, t.Images
	p.MaxShm, p.MaxMemory = int64(t.MaxShm), int64(t.MaxMemory)
	p.MaxProcesses, p.MinPriority = t.maxProcesses(), t.MinPriority
	p.DeniesHostNetwork = t.HostNetwork != nil && !*t.HostNetwork
	for _, b := range []struct {
		from *bool
		to   *bool
	}{
		{t.Privileged, &p.Privileged},
		{t.HostNetwork, &p.HostNetwork},
		{t.HostPID, &p.HostPID},
		{t.HostIPC, &p.HostIPC},
		{t.Root, &p.Root},
	} {
		if b.from != nil {
			*b.to = *b.from
		}
	}
	return p
}

const (
	// defaultMaxProcesses stops fork bombs but not training with a data loader on each core.
	defaultMaxProcesses = 4096
	// noLimit is a value of max_processes.
	noLimit = -1
)

// maxProcesses returns the maximum number of processes of a container, or 0 for no limit.
func (t TaskPolicy) maxProcesses() int64 {
	switch t.MaxProcesses {
	case 0:
		return defaultMaxProcesses
	case noLimit:
		return 0
	}
	return t.MaxProcesses
}

// MachineLimits returns the settings that limit tasks on their machine and are set explicitly. An
// agent that cannot enforce them must not run tasks.
func (t TaskPolicy) MachineLimits() []string {
	var out []string
	if t.MaxMemory > 0 {
		out = append(out, "task_policy.max_memory")
	}
	if t.MaxProcesses > 0 {
		out = append(out, "task_policy.max_processes")
	}
	return out
}

// podPriority is the priority of jobs on Kubernetes that name none.
const podPriority = 50

// checkMinPriority returns an error for each pool whose default priority its task policy forbids.
func (m Master) checkMinPriority(path string) document.Errors {
	var e document.Errors
	for i, p := range m.ResourcePools {
		at, priority := path, podPriority
		if p.TaskPolicy != nil && p.TaskPolicy.MinPriority != 0 {
			at = document.Join(path, document.Index("resource_pools", i))
		}
		if a := m.ResourceManager.Agent; a != nil {
			priority = p.EffectiveScheduler(*a).DefaultPriority
		}
		e.Check(policy.Check(m.Policy(p), policy.Asked{Priority: priority}) == nil, document.Join(at, "task_policy.min_priority"),
			"must allow %d, the priority of jobs in resource pool %q that name none", priority, p.Name)
	}
	return e
}

// Policy returns the policy of a pool's tasks: task_policy, and everything that the cluster itself
// gives to them.
func (m Master) Policy(p Pool) policy.Policy {
	given := p.EffectiveTaskContainer(m.TaskContainerDefaults).Policy()
	if s := m.CheckpointStorage; s != nil && s.SharedFS != nil {
		given.Storages = append(given.Storages, policy.HostPath{Path: s.SharedFS.HostPath, Shared: container.IsShared(s.SharedFS.Propagation)})
	}
	out := m.EffectiveTaskPolicy(p).Rules().Allow(given)
	if m.ResourceManager.Kubernetes != nil {
		out.HighFirst, out.MaxProcesses = true, 0
	}
	return out
}

// EffectiveTaskPolicy returns the cluster's task_policy overridden by the pool's own.
func (m Master) EffectiveTaskPolicy(p Pool) TaskPolicy {
	if p.TaskPolicy == nil {
		return m.TaskPolicy
	}
	return m.TaskPolicy.Overlay(*p.TaskPolicy)
}
