package gcptest

import (
	"strings"
)

// Unreachable makes zones unreachable until the next call: aggregated lists omit them and include a
// warning.
func (w *World) Unreachable(zones ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.engine.unreachable)
	for _, z := range zones {
		w.engine.unreachable[z] = true
	}
}

// unreachableZone: https://cloud.google.com/compute/docs/reference/rest/v1/instances/aggregatedList
func unreachableZone(zone string) *refusal {
	return refuse(503, "backendError", "The zone '%s' is currently unreachable.", zone)
}

// placed is an object and its zone or region: "zones/us-west1-b".
type placed struct {
	place string
	v     any
}

// aggregate lists the objects of all zones or regions, grouped by scope.
// https://cloud.google.com/compute/docs/reference/rest/v1/instances/aggregatedList
func (k collection[T]) aggregate(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	items, err := k.reachable(c, "projects/"+p.id+"/")
	if err != nil {
		return nil, err
	}
	return c.aggregatedPage(p, k.name, k.kind+"AggregatedList", items)
}

// aggregatedPage returns one page of placed items.
func (c *call) aggregatedPage(p *project, name, kind string, items []any) (any, error) {
	part, next, err := c.cut(items, c.query.Get("maxResults"))
	if err != nil {
		return nil, err
	}
	out := map[string]any{"kind": kind, "id": "projects/" + p.id + "/aggregated/" + name, "items": c.groupByPlace(name, part)}
	if next != "" {
		out["nextPageToken"] = next
	}
	if gone := sortedKeys(c.engine.unreachable); len(gone) > 0 {
		for i := range gone {
			gone[i] = "projects/" + p.id + "/zones/" + gone[i]
		}
		out["unreachables"] = gone
	}
	return out, nil
}

func (k collection[T]) reachable(c *call, prefix string) ([]any, error) {
	var rows []any
	places := make(map[any]string)
	for _, r := range k.table(&c.engine).listed(prefix, c.behind()) {
		place, _, _ := strings.Cut(strings.TrimPrefix(r.key, prefix), "/"+k.name+"/")
		if !c.engine.unreachable[strings.TrimPrefix(place, "zones/")] {
			rows = append(rows, r.v)
			places[r.v] = place
		}
	}
	rows, err := c.filter(rows)
	for i, v := range rows {
		rows[i] = placed{places[v], v}
	}
	return rows, err
}

// groupByPlace groups a page by scope. Scopes without objects have a warning, a different one if
// the zone is unreachable.
func (c *call) groupByPlace(name string, items []any) map[string]any {
	out := make(map[string]any)
	for _, z := range zones() {
		place := "zones/" + z.name
		if c.engine.unreachable[z.name] {
			out[place] = warning("UNREACHABLE", "The zone '"+z.name+"' is currently unreachable.")
			continue
		}
		out[place] = warning("NO_RESULTS_ON_PAGE", "There are no results for scope '"+place+"' on this page.")
	}
	for _, item := range items {
		p, _ := item.(placed) // items are created by reachable
		scoped, _ := out[p.place].(map[string]any)
		if scoped == nil || scoped["warning"] != nil {
			scoped = map[string]any{}
			out[p.place] = scoped
		}
		list, _ := scoped[name].([]any)
		scoped[name] = append(list, p.v)
	}
	return out
}

func warning(code, message string) map[string]any {
	return map[string]any{"warning": map[string]any{"code": code, "message": message}}
}
