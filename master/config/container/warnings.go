package container

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/policy"
)

// WarnMounts adds a warning for each mount and device, named below at, that exposes a guarded path.
func (t Defaults) WarnMounts(w *document.Errors, at string, guarded []string) {
	for i, b := range t.BindMounts {
		WarnMount(w, document.Join(document.Index(document.Join(at, "bind_mounts"), i), "host_path"), b.HostPath, guarded)
	}
	for i, d := range t.Devices {
		WarnMount(w, document.Join(document.Index(document.Join(at, "devices"), i), "host_path"), d.HostPath, guarded)
	}
}

// WarnMount adds a warning if the machine's path named at exposes a guarded path.
func WarnMount(w *document.Errors, at, host string, guarded []string) {
	if host == "" {
		return
	}
	what, reached := policy.Reaches(host, guarded)
	w.Check(!reached, at, "every task with this mount is rejected: it resolves to %s, which tasks may not mount; name another path", what)
}
