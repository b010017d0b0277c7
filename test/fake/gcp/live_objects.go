package gcptest

import (
	"slices"

	"google.golang.org/api/compute/v1"
)

// Live returns the sorted paths of all existing objects in all projects that did not exist before
// the test, independent of API calls. Objects that are being deleted count until they are deleted;
// a deleted role, whose ID remains in use, does not.
func (w *World) Live() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	e := &w.engine
	out := slices.Concat(
		e.networks.made(), e.subnetworks.made(), e.firewalls.made(), e.routers.made(), e.addresses.made(),
		e.disks.made(), e.images.made(), e.snapshots.made(), e.instances.made(), w.vault.secrets.made(), w.access.accounts.made(),
	)
	for _, name := range w.stores.buckets.made() {
		out = append(out, "buckets/"+name)
	}
	for _, r := range w.access.roles.rows {
		if r.diedAt == 0 && !r.given && !r.v.Deleted {
			out = append(out, r.key)
		}
	}
	slices.Sort(out)
	return out
}

// Bindings returns the sorted role bindings in the policy of a path, such as "projects/p" or
// "buckets/b", as "role member" followed by the condition, if any.
func (w *World) Bindings(path string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, b := range w.access.latest(path).Bindings {
		for _, m := range b.Members {
			text := b.Role + " " + m
			if b.Condition != nil {
				text += " if " + b.Condition.Expression
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// Bind grants a role on a path before the test begins. It takes effect at once.
func (w *World) Bind(path, role string, members ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.access.bind(w, path, role, members)
}

func (a *access) bind(w *World, path, role string, members []string) {
	p := clone(a.latest(path))
	p.Bindings = append(p.Bindings, &binding{Role: role, Members: members})
	a.setPolicy(w, path, p)
	h := a.policies[path]
	h.versions = h.versions[len(h.versions)-1:] // earlier versions have no effect
}

// Instances returns the instances of all projects by path.
func (w *World) Instances() map[string]*compute.Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	out := make(map[string]*compute.Instance)
	for path, m := range w.engine.instances.all() {
		out[path] = clone(&m.Instance)
	}
	return out
}
