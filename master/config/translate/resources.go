package translate

import "github.com/det-deploy/det-deploy/internal/document"

// oldScheduler converts
//
//	scheduler: {type, fit, resource_provider: {type: default|kubernetes, …}}
//
// to resource_manager: {type, scheduler: {type, fitting_policy}, …}.
func (t *translator) oldScheduler(root document.Map) {
	line := root.Line("scheduler")
	n, ok := root.Take("scheduler")
	if !ok || n.IsNull() {
		return
	}
	scheduler, ok := n.Map()
	if !ok {
		t.addProblem(line, "scheduler", "must be a mapping of keys to values", "")
		return
	}
	t.addWarning(line, "scheduler", "is now resource_manager.scheduler", "move it")
	rm := document.NewMap(n)
	kind := "agent"
	if p, ok := scheduler.Take("resource_provider"); ok {
		if provider, ok := p.Map(); ok {
			typ, given := provider.Take("type")
			if given && typ.Text() != "default" && typ.Text() != "kubernetes" {
				t.addProblem(typ.Line(), "scheduler.resource_provider.type", "must be default or kubernetes", "")
			}
			if given && typ.Text() != "default" {
				kind = "kubernetes"
			}
			t.moveAll(provider, rm)
		}
	}
	for _, key := range []string{"default_cpu_resource_pool", "default_gpu_resource_pool", "default_aux_resource_pool", "default_compute_resource_pool"} {
		rm.Take(key) // an old file has one pool, named default
	}
	t.renameKey(scheduler, "scheduler", "fit", "fitting_policy")
	if kind == "agent" {
		if !scheduler.Has("type") {
			scheduler.Put("type", document.NewText(n, "priority"))
		}
		rm.Put("scheduler", scheduler.Node())
	} else {
		for _, key := range scheduler.Keys() {
			t.addWarning(scheduler.Line(key), "scheduler."+key, "has no effect on Kubernetes, which schedules itself", "remove it")
		}
	}
	rm.Put("type", document.NewText(n, kind))
	root.Put("resource_manager", rm.Node())
}

func (t *translator) moveAll(from, to document.Map) {
	for _, key := range from.Keys() {
		if value, ok := from.Take(key); ok {
			to.Put(key, value)
		}
	}
}

// oldProvisioner converts provisioner: {provider: aws, …} to a pool named default with a provider
// of that type and all the other keys.
func (t *translator) oldProvisioner(root document.Map) {
	line := root.Line("provisioner")
	n, ok := root.Take("provisioner")
	if !ok || n.IsNull() {
		return
	}
	old, ok := n.Map()
	if !ok {
		t.addProblem(line, "provisioner", "must be a mapping of keys to values", "")
		return
	}
	t.addWarning(line, "provisioner", "is now resource_pools[0].provider", "write a pool named default with this provider")
	provider := document.NewMap(n)
	typ, ok := old.Take("provider")
	switch {
	case !ok || typ.Text() == "":
		t.addProblem(line, "provisioner.provider", "is required: aws or gcp", "")
		return
	case old.Has("type"):
		t.addProblem(old.Line("type"), "provisioner.type", "cannot be combined with provisioner.provider, its old name", "remove one")
		return
	}
	provider.Put("type", typ)
	t.moveAll(old, provider)
	pool := document.NewMap(n)
	pool.Put("pool_name", document.NewText(n, "default"))
	pool.Put("provider", provider.Node())
	root.Put("resource_pools", document.NewList(pool.Node()))
}
