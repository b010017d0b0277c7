// Package translate converts deprecated forms of master.yaml to the current ones before they are
// decoded.
package translate

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// translator converts deprecated forms before they are decoded, so that every rule is implemented
// once. Values keep their line numbers.
type translator struct {
	doc      *document.Document
	warnings []document.Problem
	problems document.Errors
}

// OldForms converts d. It returns warnings about deprecated forms, and errors for contradictory
// ones.
func OldForms(d *document.Document) ([]document.Problem, document.Errors) {
	t := &translator{doc: d}
	root := d.Root()
	t.dropRemoved(root)
	t.moveInternal(root)
	t.oldResources(root)
	for _, key := range []string{"resource_manager"} {
		t.resourceManager(root, key)
	}
	t.translatePools(root, "resource_pools")
	if list, ok := root.Get("additional_resource_managers"); ok {
		for _, n := range list.List() {
			if m, ok := n.Map(); ok {
				t.resourceManager(m, "resource_manager")
				t.translatePools(m, "resource_pools")
			}
		}
	}
	return t.warnings, t.problems
}

func (t *translator) addWarning(line int, path, text, hint string) {
	t.warnings = append(t.warnings, document.Problem{File: t.doc.Name(), Line: line, Path: path, Text: text, Hint: hint})
}

func (t *translator) addProblem(line int, path, text, hint string) {
	t.problems = append(t.problems, document.Problem{File: t.doc.Name(), Line: line, Path: path, Text: text, Hint: hint})
}

// renameKey renames an old key. It adds an error if both keys are set.
func (t *translator) renameKey(m document.Map, path, from, to string) {
	line := m.Line(from)
	switch {
	case !m.Has(from):
	case m.Has(to) && sameText(m, from, to):
		m.Take(from)
		t.addWarning(line, document.Join(path, from), "is the old name of "+to+", which has the same value", "remove it")
	case m.Has(to):
		t.addProblem(line, document.Join(path, from), "is the old name of "+to+", which is also given", "keep "+to)
		m.Take(from)
	default:
		m.Rename(from, to)
		t.addWarning(line, document.Join(path, from), "is the old name of "+to, "rename it")
	}
}

// sameText reports whether both keys have the same scalar.
func sameText(m document.Map, a, b string) bool {
	x, _ := m.Get(a)
	y, _ := m.Get(b)
	return x.Text() != "" && x.Text() == y.Text()
}

// dropIgnored removes a key that older files may contain and that never had an effect here.
func (t *translator) dropIgnored(m document.Map, path, key, text, hint string) {
	line := m.Line(key)
	if _, given := m.Take(key); given {
		t.addWarning(line, document.Join(path, key), text, hint)
	}
}

// dropRemoved removes the keys that masters of Determined had, or print without reading them.
func (t *translator) dropRemoved(root document.Map) {
	const inDatabase = "the database is made by the master itself"
	for _, row := range []struct{ section, key, why string }{
		{"", "hasura", "no part of the cluster uses Hasura"},
		{"db", "migrations", inDatabase},
		{"db", "views_and_triggers", inDatabase},
		{"security.default_task", "id", "it is a number of Determined's database"},
		{"security.default_task", "user_id", "it is a number of Determined's database"},
		{"security.default_task", "RelatedUser", "it is a row of Determined's database"},
		{"security.authz", "_strict_ntsc_enabled", "security.visibility sets what users read of the tasks of others"},
		{"resource_manager", "fluent", "the logs of pods are read by the master"},
	} {
		if m, found := mappingAt(root, row.section); found {
			t.dropIgnored(m, row.section, row.key, "has no effect: "+row.why, "remove it")
		}
	}
}

// mappingAt returns the mapping at a path of keys.
func mappingAt(m document.Map, path string) (document.Map, bool) {
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		n, found := m.Get(key)
		if !found {
			return m, false
		}
		if m, found = n.Map(); !found {
			return m, false
		}
	}
	return m, true
}

// moveInternal moves __internal.preemption_timeout to its current place.
func (t *translator) moveInternal(root document.Map) {
	n, ok := root.Get("__internal")
	if !ok {
		return
	}
	m, ok := n.Map()
	if !ok || !m.Has("preemption_timeout") {
		return
	}
	line := m.Line("preemption_timeout")
	value, _ := m.Take("preemption_timeout")
	if value.IsNull() {
		return
	}
	defaults := t.childMapping(root, "task_container_defaults", value)
	if defaults.Has("preemption_timeout") {
		t.addProblem(line, "__internal.preemption_timeout", "is now task_container_defaults.preemption_timeout, which is also given", "keep that")
		return
	}
	defaults.Put("preemption_timeout", value)
	t.addWarning(line, "__internal.preemption_timeout", "is now task_container_defaults.preemption_timeout", "move it")
}

// childMapping returns the mapping under a key. If it is missing, it is created with the position
// of near.
func (t *translator) childMapping(m document.Map, key string, near document.Node) document.Map {
	if n, ok := m.Get(key); ok {
		if c, ok := n.Map(); ok {
			return c
		}
		if !n.IsNull() { // decoding reports a wrong type
			return document.NewMap(near)
		}
		m.Take(key)
	}
	c := document.NewMap(near)
	m.Put(key, c.Node())
	return c
}

func (t *translator) translatePools(m document.Map, key string) {
	list, ok := m.Get(key)
	if !ok {
		return
	}
	for i, n := range list.List() {
		if pool, ok := n.Map(); ok {
			at := document.Index(key, i)
			t.renameKey(pool, at, "max_cpu_containers_per_agent", "max_aux_containers_per_agent")
			t.dropIgnored(pool, at, "max_slots", "has no effect: a pool has the slots of its agents", "remove it; resources.max_slots limits a job, provider.max_instances a pool")
			t.dropIgnored(pool, at, "kubernetes_namespace", "has no effect: all pools have one namespace", "remove it; resource_manager.default_namespace is the namespace of tasks")
		}
	}
}

func (t *translator) resourceManager(m document.Map, key string) {
	n, ok := m.Get(key)
	if !ok {
		return
	}
	rm, ok := n.Map()
	if !ok {
		return
	}
	for _, r := range [][2]string{
		{"name", "cluster_name"},
		{"default_cpu_resource_pool", "default_aux_resource_pool"},
		{"default_gpu_resource_pool", "default_compute_resource_pool"},
		{"determined_master_ip", "determined_master_host"},
	} {
		t.renameKey(rm, key, r[0], r[1])
	}
	if kind, found := rm.Get("type"); found && kind.Text() == "kubernetes" {
		t.renameKey(rm, key, "namespace", "default_namespace")
	}
}

// oldResources converts top-level scheduler and provisioner to a resource manager and a pool named
// default.
func (t *translator) oldResources(root document.Map) {
	for _, old := range []string{"scheduler", "provisioner"} {
		for _, now := range []string{"resource_manager", "resource_pools"} {
			if root.Has(old) && root.Has(now) {
				t.addProblem(root.Line(old), old, fmt.Sprintf("is an old form and cannot be combined with %s (line %d)", now, root.Line(now)), "keep "+now)
			}
		}
	}
	if len(t.problems) > 0 {
		root.Take("scheduler")
		root.Take("provisioner")
		return
	}
	t.oldScheduler(root)
	t.oldProvisioner(root)
}
