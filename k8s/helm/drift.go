package helm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// hidden replaces the values of a Secret.
const hidden = "‹redacted›"

func mergePatched(doc, patch []byte) ([]byte, error) { return jsonpatch.MergePatch(doc, patch) }

// findDrift returns the paths in which will differs from have, except fields set by the server.
func findDrift(o Object, have, will map[string]any) []resource.Drift {
	w := &walker{secret: o.Kind == "Secret"}
	for _, m := range []map[string]any{have, will} {
		delete(m, "status")
		if meta, ok := m["metadata"].(map[string]any); ok {
			for _, k := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
				delete(meta, k)
			}
		}
	}
	w.walkFields("", have, will)
	return w.out
}

type walker struct {
	secret bool
	out    []resource.Drift
}

func (w *walker) walkValue(path string, have, will any) {
	haveMap, one := have.(map[string]any)
	willMap, two := will.(map[string]any)
	if one && two {
		w.walkFields(path, haveMap, willMap)
		return
	}
	haveList, one := have.([]any)
	willList, two := will.([]any)
	if one && two {
		w.walkList(path, haveList, willList)
		return
	}
	if formatValue(have) != formatValue(will) {
		w.out = append(w.out, resource.Drift{Path: path, Have: shortenLine(formatValue(have)), Want: shortenLine(formatValue(will))})
	}
}

func (w *walker) walkFields(path string, have, will map[string]any) {
	keys := slices.Collect(maps.Keys(have))
	for k := range will {
		if _, found := have[k]; !found {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := k
		if path != "" {
			at = path + "." + k
		}
		switch inside := path == "data" || path == "stringData"; {
		case w.secret && inside:
			w.hideSecret(at, have[k], will[k])
		case w.secret && (at == "data" || at == "stringData"):
			w.walkFields(at, mapOf(have[k]), mapOf(will[k])) // a missing field counts as empty
		default:
			w.walkValue(at, have[k], will[k])
		}
	}
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any) // other types contain no secrets
	return m
}

// hideSecret records that a secret differs, without its value.
func (w *walker) hideSecret(path string, have, will any) {
	if formatValue(have) == formatValue(will) {
		return
	}
	d := resource.Drift{Path: path, Have: hidden, Want: hidden + " (another)"}
	if have == nil {
		d.Have, d.Want = formatValue(nil), hidden
	} else if will == nil {
		d.Want = formatValue(nil)
	}
	w.out = append(w.out, d)
}

// walkList compares items by name if all have one, else by index.
func (w *walker) walkList(path string, have, will []any) {
	haveNamed, one := itemsByName(have)
	willNamed, two := itemsByName(will)
	if one && two {
		names := slices.Collect(maps.Keys(haveNamed))
		for n := range willNamed {
			if _, found := haveNamed[n]; !found {
				names = append(names, n)
			}
		}
		slices.Sort(names)
		for _, n := range names {
			w.walkValue(path+"["+n+"]", haveNamed[n], willNamed[n])
		}
		return
	}
	for i := range max(len(have), len(will)) {
		w.walkValue(path+"["+strconv.Itoa(i)+"]", itemAt(have, i), itemAt(will, i))
	}
}

func itemAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func itemsByName(list []any) (map[string]any, bool) {
	out := make(map[string]any, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		n, ok := m["name"].(string)
		if !ok {
			return nil, false
		}
		out[n] = item
	}
	return out, len(out) == len(list)
}

// formatValue formats a value on one line; nil is "none".
func formatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return v
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	}
	return fmt.Sprint(v)
}

func shortenLine(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
