package gcptest

import (
	"fmt"
	"strings"

	"google.golang.org/api/googleapi"
)

// collection implements the methods common to Compute Engine's collections: insert, get, list,
// aggregatedList, delete, setLabels and patch.
type collection[T any] struct {
	name  string // "disks"
	kind  string // "compute#disk"
	table func(*engine) *table[T]
	// create completes and validates a new object. It may be nil, like the functions below.
	create func(c *call, path string, v *T) error
	// made is called when the operation that creates an object is done.
	made func(v *T)
	// update validates and completes a modified object.
	update func(c *call, old, next *T) error
	// user returns the user of an object, or "".
	user func(w *World, path string, v *T) string
	// removed is called when an object was deleted.
	removed func(w *World, path string, v *T)
}

// acts returns the implementations of the named methods.
func (k collection[T]) acts(methods ...string) map[string]act {
	all := map[string]act{
		"insert": k.insert, "get": k.get, "list": k.list, "aggregatedList": k.aggregate, "delete": k.delete,
		"setLabels": k.setLabels, "patch": k.patch,
	}
	out := make(map[string]act, len(methods))
	for _, m := range methods {
		out["compute."+k.name+"."+m] = all[m]
	}
	return out
}

func (k collection[T]) path(c *call, name string) (string, error) {
	scope, err := c.scope()
	return scope + k.name + "/" + name, err
}

// find returns the object of the request's path.
func (k collection[T]) find(c *call) (string, *T, error) {
	name := c.params[parameterOf(k.name)]
	path, err := k.path(c, name)
	if err != nil {
		return "", nil, err
	}
	v, found := k.table(&c.engine).get(path)
	if !found {
		return "", nil, notFound(path)
	}
	return path, v, nil
}

// parameterOf returns the path parameter for an object of a collection: "disk", or "resource" in
// setLabels.
func parameterOf(collection string) string {
	if collection == "addresses" {
		return "address"
	}
	return strings.TrimSuffix(collection, "s")
}

func (k collection[T]) insert(c *call) (any, error) {
	v := decode[T](c)
	path, err := k.path(c, read[string](v, "Name"))
	if err != nil {
		return nil, err
	}
	if _, found := k.table(&c.engine).get(path); found {
		return nil, exists(path)
	}
	c.complete(v, k.kind, path)
	if k.create != nil {
		if err := k.create(c, path, v); err != nil {
			return nil, err
		}
	}
	return k.add(c, path, v)
}

// add adds an object, which is visible before its operation is done.
func (k collection[T]) add(c *call, path string, v *T) (any, error) {
	t := k.table(&c.engine)
	t.add(path, v)
	return c.operate("insert", path, effect{
		apply: func() *failure {
			if k.made != nil {
				k.made(v)
			}
			return nil
		},
		undo: func() { t.remove(path) },
	})
}

// complete sets the output-only fields.
func (c *call) complete(v any, kind, path string) {
	set(v, "Kind", kind)
	set(v, "Id", c.nextID())
	set(v, "SelfLink", linkTo(path))
	set(v, "CreationTimestamp", c.stamp())
	set(v, "LabelFingerprint", c.fingerprint())
	switch parts := strings.Split(path, "/"); parts[2] {
	case "zones":
		set(v, "Zone", linkTo(strings.Join(parts[:4], "/")))
	case "regions":
		set(v, "Region", linkTo(strings.Join(parts[:4], "/")))
	}
	set(v, "ServerResponse", googleapi.ServerResponse{})
}

func (k collection[T]) get(c *call) (any, error) {
	_, v, err := k.find(c)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (k collection[T]) list(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	if c.engine.unreachable[c.params["zone"]] {
		return nil, unreachableZone(c.params["zone"])
	}
	return c.page(k.kind+"List", k.items(c, scope+k.name+"/"))
}

func (k collection[T]) items(c *call, prefix string) []any {
	var items []any
	for _, r := range k.table(&c.engine).listed(prefix, c.behind()) {
		items = append(items, r.v)
	}
	return items
}

// delete: https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func (k collection[T]) delete(c *call) (any, error) {
	path, v, err := k.find(c)
	if err != nil {
		return nil, err
	}
	t := k.table(&c.engine)
	row := t.live[path]
	if row.going {
		return nil, notReady(path)
	}
	used := func() *failure {
		if k.user == nil {
			return nil
		}
		if by := k.user(c.World, path, v); by != "" {
			return inUse(path, by)
		}
		return nil
	}
	if f := used(); f != nil && !c.opt.InUseLater {
		return nil, &refusal{status: 400, reason: "resourceInUseByAnotherResource", code: "INVALID_ARGUMENT", message: f.message}
	}
	row.going = true
	return c.operate("delete", path, effect{
		apply: func() *failure {
			if f := used(); f != nil {
				return f
			}
			t.remove(path)
			if k.removed != nil {
				k.removed(c.World, path, v)
			}
			return nil
		},
		undo: func() { row.going = false },
	})
}

// notReady returns the error for an object that is in use by another operation.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-not-ready
func notReady(path string) *refusal {
	return refuse(400, "resourceNotReady", "The resource '%s' is not ready", path)
}

// inUse: https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func inUse(path, by string) *failure {
	return &failure{
		status: 400, reason: "BAD REQUEST", code: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
		message: fmt.Sprintf("The %s resource '%s' is already being used by '%s'", singular(path), path, by),
	}
}

// singular returns the singular kind of a path: "disk".
func singular(path string) string {
	parts := strings.Split(path, "/")
	return parameterOf(parts[len(parts)-2])
}

// patch changes the fields present in the body.
func (k collection[T]) patch(c *call) (any, error) {
	path, v, err := k.find(c)
	if err != nil {
		return nil, err
	}
	if sent := asText(c.sent()["fingerprint"]); sent != "" && sent != read[string](v, "Fingerprint") {
		return nil, staleFingerprint()
	}
	next, err := patch(c, v)
	if err != nil {
		return nil, err
	}
	if k.update != nil {
		if err := k.update(c, v, next); err != nil {
			return nil, err
		}
	}
	set(next, "Fingerprint", c.fingerprint())
	return c.operate("patch", path, effect{apply: func() *failure { *v = *next; return nil }})
}
