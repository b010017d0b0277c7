package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Merge returns x with its unset settings taken from lower. Lists of mounts, devices, policies,
// labels and ports are joined; environment variables are appended. Storages of different types, and
// searchers of different methods, merge only the settings that the upper one supports.
func (x Experiment) Merge(lower Experiment) Experiment {
	fillStruct(reflect.ValueOf(&x).Elem(), reflect.ValueOf(lower))
	return x
}

func fillStruct(to, from reflect.Value) {
	for i := range to.NumField() {
		fillValue(to.Field(i), from.Field(i))
	}
}

func fillValue(to, from reflect.Value) {
	if fillKnown(to.Addr().Interface(), from.Interface()) {
		return
	}
	if to.Kind() == reflect.Struct && to.Type() != reflect.TypeFor[document.Raw]() {
		fillStruct(to, from)
		return
	}
	if to.IsZero() {
		to.Set(from)
	}
}

// fillKnown merges the types that need more than a copy of unset fields. It reports whether the type
// is one of them.
func fillKnown(to, from any) bool {
	switch to := to.(type) {
	case *Hyperparameters:
		*to = to.mergeNames(from.(Hyperparameters))
	case *Searcher:
		mergeUnion(to, from.(Searcher), Searcher.usesKey, to.Name != nil && valueOf(to.Name) != valueOf(from.(Searcher).Name))
	case *Storage:
		mergeUnion(to, from.(Storage).withoutRivals(*to), Storage.usesKey, to.Type != nil && valueOf(to.Type) != valueOf(from.(Storage).Type))
	case *container.Images:
		lower := from.(container.Images)
		*to = container.Images{CPU: cmp.Or(to.CPU, lower.CPU), CUDA: cmp.Or(to.CUDA, lower.CUDA), ROCm: cmp.Or(to.ROCm, lower.ROCm)}
	case *container.Environment: // the last variable of a name wins
		lower := from.(container.Environment)
		*to = container.Environment{
			CPU: slices.Concat(lower.CPU, to.CPU), CUDA: slices.Concat(lower.CUDA, to.CUDA), ROCm: slices.Concat(lower.ROCm, to.ROCm),
		}
	case *map[string]int:
		*to = joinKeys(*to, from.(map[string]int))
	default:
		return fillList(to, from)
	}
	return true
}

func fillList(to, from any) bool {
	switch to := to.(type) {
	case *Mounts:
		*to = joinLists(*to, from.(Mounts), func(b container.BindMount) string { return b.ContainerPath })
	case *Devices:
		*to = joinLists(*to, from.(Devices), func(d container.Device) string { return d.ContainerPath })
	case *LogPolicies:
		*to = joinLists(*to, from.(LogPolicies), policyName)
	case *Labels:
		*to = joinLists(*to, from.(Labels), func(s string) string { return s })
	case *[]spec.ProxyPort:
		*to = joinLists(*to, from.([]spec.ProxyPort), func(p spec.ProxyPort) int { return p.Port })
	default:
		return false
	}
	return true
}

// policyName returns the key that identifies a policy. Policies of older versions have no name, and
// several of them may share a pattern with different actions.
func policyName(p container.LogPolicy) container.LogPolicy {
	if p.Name != "" {
		return container.LogPolicy{Name: p.Name}
	}
	return p
}

// joinLists appends to upper the elements of lower whose keys upper does not have.
func joinLists[L ~[]E, E any, K comparable](upper, lower L, key func(E) K) L {
	out := slices.Clone(upper)
	for _, l := range lower {
		if !slices.ContainsFunc(out, func(o E) bool { return key(o) == key(l) }) {
			out = append(out, l)
		}
	}
	return out
}

func joinKeys[V any](upper, lower map[string]V) map[string]V {
	if len(lower) == 0 {
		return upper
	}
	out := maps.Clone(lower)
	maps.Copy(out, upper)
	return out
}

// mergeNames adds the hyperparameters that h does not have. Nested hyperparameters are merged
// recursively; all others are replaced as a whole.
func (h Hyperparameters) mergeNames(lower Hyperparameters) Hyperparameters {
	if len(lower) == 0 {
		return h
	}
	out := joinKeys(h, lower)
	for name, p := range h {
		if l := lower[name]; p.Nested != nil && l.Nested != nil {
			out[name] = Hyperparameter{Nested: p.Nested.mergeNames(l.Nested)}
		}
	}
	return out
}

// mergeUnion fills the unset settings of to; if the kinds are different, only those that the upper
// kind supports.
func mergeUnion[T any](to *T, from T, uses func(T, string) bool, different bool) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	upper := *to
	for i := range target.NumField() {
		key := target.Type().Field(i).Tag.Get("yaml")
		if different && !uses(upper, key) {
			continue
		}
		if target.Field(i).IsZero() {
			target.Field(i).Set(source.Field(i))
		}
	}
}
