package engine

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// dereference follows pointers and interfaces to a value, and reports whether it met nil.
func dereference(v reflect.Value) (end reflect.Value, null bool) {
	for ; v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; v = v.Elem() {
		if v.IsNil() {
			return v, true
		}
	}
	return v, false
}

// unwrapInterface is what an interface holds.
func unwrapInterface(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// isTrue reports whether a value counts as true: one that is not empty. It is not ok for
// what cannot be either.
func isTrue(v reflect.Value) (truth, ok bool) {
	if !v.IsValid() {
		return false, true
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0, true
	case reflect.Struct:
		return true, true
	case reflect.UnsafePointer:
		return false, false
	default:
		return !v.IsZero(), true
	}
}

// printValue writes a value as fmt does.
func (s *state) printValue(n parse.Node, v reflect.Value) error {
	s.node = n
	if v.Kind() == reflect.Pointer {
		v, _ = dereference(v)
	}
	if !v.IsValid() {
		s.out.WriteString("<no value>")
		return nil
	}
	if v.Kind() == reflect.Chan || v.Kind() == reflect.Func {
		return fmt.Errorf("can't print %s of type %s", n, v.Type())
	}
	fmt.Fprint(s.out, printable(v))
	return nil
}

// printable is a value as fmt is to have it: as the pointer where only that has words of
// its own.
func printable(v reflect.Value) any {
	if _, ok := v.Interface().(fmt.Stringer); ok || !v.CanAddr() {
		return v.Interface()
	}
	switch p := v.Addr().Interface().(type) {
	case error, fmt.Stringer:
		return p
	}
	return v.Interface()
}
