// Package chart handles the values of det-deploy's chart: it merges and redacts them, and converts
// the values of Determined's chart.
package chart

import (
	"maps"
	"strconv"
	"strings"
)

// Values are the values of a chart as Helm parses them: maps, lists, numbers, strings and booleans.
type Values map[string]any

// Over returns base overridden by v. Maps are merged, lists are replaced, and a null removes the
// value in base.
func (v Values) Over(base Values) Values {
	out := cloneValues(base)
	for key, value := range v {
		if value == nil {
			delete(out, key)
			continue
		}
		upper, isMap := value.(map[string]any)
		lower, wasMap := out[key].(map[string]any)
		if isMap {
			if !wasMap {
				lower = nil
			}
			out[key] = map[string]any(Values(upper).Over(lower))
			continue
		}
		out[key] = value
	}
	return out
}

// Get returns the value at a dotted path such as "db.password".
func (v Values) Get(path string) (any, bool) {
	var at any = map[string]any(v)
	for key := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Without returns v without the value at a dotted path.
func (v Values) Without(path string) Values {
	key, rest, deeper := strings.Cut(path, ".")
	out := cloneValues(v)
	if !deeper {
		delete(out, key)
	} else if below, isMap := out[key].(map[string]any); isMap {
		out[key] = map[string]any(Values(below).Without(rest))
	}
	return out
}

// Text returns the string at a path, or "".
func (v Values) Text(path string) string {
	at, _ := v.Get(path)
	text, _ := at.(string)
	return text
}

// filterLeaves returns v with the leaves that keep returns.
func (v Values) filterLeaves(under string, keep func(path string, value any) (any, bool)) Values {
	out := make(Values, len(v))
	for key, value := range v {
		if kept, ok := eachIn(joinPath(under, key), value, keep); ok {
			out[key] = kept
		}
	}
	return out
}

func eachIn(path string, value any, keep func(string, any) (any, bool)) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return map[string]any(Values(value).filterLeaves(path, keep)), true
	case []any:
		out := make([]any, 0, len(value))
		for i, one := range value {
			if kept, ok := eachIn(path+"["+strconv.Itoa(i)+"]", one, keep); ok {
				out = append(out, kept)
			}
		}
		return out, true
	default:
		return keep(path, value)
	}
}

func joinPath(under, key string) string {
	if under == "" {
		return key
	}
	return under + "." + key
}

func cloneValues(v Values) Values {
	if v == nil {
		return make(Values)
	}
	return maps.Clone(v)
}

// True reports whether the value at a path is true.
func (v Values) True(path string) bool {
	at, _ := v.Get(path)
	yes, _ := at.(bool)
	return yes
}

// Number returns the integer at a path, or 0. YAML, --set and JSON produce different number types.
func (v Values) Number(path string) int {
	at, _ := v.Get(path)
	switch n := at.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
