package engine

import (
	"errors"
	"fmt"
	"reflect"
)

// builtins are the functions of the language. The parser needs and and or to be here;
// they are executed apart, as they do not evaluate all they are given.
func builtins() map[string]any {
	return map[string]any{
		"and": errors.New, "or": errors.New,
		"not":     func(v reflect.Value) bool { truth, _ := isTrue(unwrapInterface(v)); return !truth },
		"index":   index,
		"slice":   slice,
		"len":     length,
		"print":   fmt.Sprint,
		"printf":  fmt.Sprintf,
		"println": fmt.Sprintln,
		"eq":      equalsAny,
		"ne":      func(a, b reflect.Value) (bool, error) { same, err := equalsAny(a, b); return !same, err },
		"lt":      less,
		"le":      lessOrEqual,
		"gt": func(a, b reflect.Value) (bool, error) {
			most, err := lessOrEqual(a, b)
			return !most && err == nil, err
		},
		"ge": func(a, b reflect.Value) (bool, error) { below, err := less(a, b); return !below && err == nil, err },
	}
}

var errNilIndex = errors.New("index of nil pointer")

// index is an element of a list or the value of a map's key, and of that, and so forth.
func index(v reflect.Value, at ...reflect.Value) (reflect.Value, error) {
	v = unwrapInterface(v)
	if !v.IsValid() {
		return v, errors.New("index of untyped nil")
	}
	for _, i := range at {
		i = unwrapInterface(i)
		var null bool
		if v, null = dereference(v); null {
			return v, errNilIndex
		}
		switch v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			n, err := position(i, v.Len()-1)
			if err != nil {
				return v, err
			}
			v = v.Index(n)
		case reflect.Map:
			key, err := assign(i, v.Type().Key())
			if err != nil {
				return v, err
			}
			found := v.MapIndex(key)
			if !found.IsValid() {
				found = reflect.Zero(v.Type().Elem())
			}
			v = found
		default:
			return v, fmt.Errorf("can't index item of type %s", v.Type())
		}
	}
	return v, nil
}

// position is an index of at most last.
func position(v reflect.Value, last int) (int, error) {
	var i int
	switch {
	case v.CanInt():
		i = int(v.Int())
	case v.CanUint():
		i = int(v.Uint()) //nolint:gosec // one that overflows is negative, and refused
	case !v.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	default:
		return 0, fmt.Errorf("cannot index slice/array with type %s", v.Type())
	}
	if i < 0 || i > last {
		return 0, fmt.Errorf("error calling index: index out of range: %d", i)
	}
	return i, nil
}

// slice is a part of a list or a string: v[i:j], or v[i:j:k] of a list.
func slice(v reflect.Value, at ...reflect.Value) (reflect.Value, error) {
	v, null := dereference(v)
	switch {
	case null || !v.IsValid():
		return v, errors.New("slice of untyped nil")
	case v.Kind() != reflect.String && v.Kind() != reflect.Slice && v.Kind() != reflect.Array:
		return v, fmt.Errorf("can't slice item of type %s", v.Type())
	case len(at) > 3, len(at) == 3 && v.Kind() == reflect.String:
		return v, fmt.Errorf("too many slice indexes: %d", len(at))
	}
	bound := [3]int{0, v.Len(), v.Len()}
	most := v.Len()
	if v.Kind() == reflect.Slice {
		most = v.Cap()
	}
	for i, a := range at {
		n, err := position(unwrapInterface(a), most)
		if err != nil {
			return v, err
		}
		bound[i] = n
	}
	if bound[0] > bound[1] || (len(at) == 3 && bound[1] > bound[2]) {
		return v, fmt.Errorf("invalid slice index: %d > %d", bound[0], bound[1])
	}
	if len(at) == 3 {
		return v.Slice3(bound[0], bound[1], bound[2]), nil
	}
	return v.Slice(bound[0], bound[1]), nil
}

func length(v reflect.Value) (int, error) {
	v, null := dereference(v)
	if null || !v.IsValid() {
		return 0, errors.New("len of nil pointer")
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	default:
		return 0, fmt.Errorf("len of type %s", v.Type())
	}
}
