package config

import (
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/policy"
)

// GuardedMounts lists what is given to every task and what no task gets: every task it
// is given to would be refused.
func GuardedMounts(m Master) document.Errors {
	guarded := m.guardedPaths()
	var w document.Errors
	m.TaskContainerDefaults.warnMounts(&w, "task_container_defaults", guarded)
	for i, p := range m.ResourcePools {
		if p.TaskContainerDefaults != nil {
			p.TaskContainerDefaults.warnMounts(&w, document.Join(document.Index("resource_pools", i), "task_container_defaults"), guarded)
		}
	}
	m.warnStorage(&w, guarded)
	return w
}

// GuardedMounts lists what is given to every task of one pool and no task gets.
func (p Pool) GuardedMounts(m Master) document.Errors {
	var w document.Errors
	p.EffectiveTaskContainer(m.TaskContainerDefaults).warnMounts(&w, "task_container_defaults", m.guardedPaths())
	m.warnStorage(&w, m.guardedPaths())
	return w
}

// guardedPaths is what no task gets of the machines of this cluster.
func (m Master) guardedPaths() []string {
	if m.DataDir == "" {
		return policy.Guarded()
	}
	return append(policy.Guarded(), m.DataDir)
}

func (m Master) warnStorage(w *document.Errors, guarded []string) {
	if s := m.CheckpointStorage; s != nil && s.SharedFS != nil {
		warnMount(w, "checkpoint_storage.host_path", s.SharedFS.HostPath, guarded)
	}
}

func (t TaskContainerDefaults) warnMounts(w *document.Errors, at string, guarded []string) {
	for i, b := range t.BindMounts {
		warnMount(w, document.Join(document.Index(document.Join(at, "bind_mounts"), i), "host_path"), b.HostPath, guarded)
	}
	for i, d := range t.Devices {
		warnMount(w, document.Join(document.Index(document.Join(at, "devices"), i), "host_path"), d.HostPath, guarded)
	}
}

func warnMount(w *document.Errors, at, host string, guarded []string) {
	if host == "" {
		return
	}
	what, reached := policy.Reaches(host, guarded)
	w.Check(!reached, at, "every task with this mount is refused: it would reach %s, which is given to no task; name another path", what)
}
