package gcptest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Creation is a call that created an object, with the fields that it set by their names in JSON.
type Creation struct {
	Op, Path string
	Fields   []string
}

// Creations returns the objects that calls created, in the order of the calls.
func (w *World) Creations() []Creation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.creations)
}

// noteCreation records a successful call that created the object added first.
func (c *call) noteCreation() {
	verb := c.verbOf()
	if len(c.added) == 0 || verb != "insert" && verb != "create" {
		return
	}
	fields := c.sent()
	for _, nested := range []string{"role", "serviceAccount"} { // IAM's requests contain the object
		if raw, found := fields[nested]; found {
			fields = make(map[string]json.RawMessage)
			_ = json.Unmarshal(raw, &fields) // validated against its schema before
		}
	}
	parts := strings.Split(c.ID, ".")
	i := slices.IndexFunc(c.added, func(path string) bool { return strings.Contains(path, "/"+parts[len(parts)-2]+"/") })
	c.creations = append(c.creations, Creation{c.ID, c.added[max(i, 0)], sortedKeys(fields)}) // a machine comes with its disks
}

// Alter changes a field of an object as if by hand: texts, numbers and switches get other values, and marks
// are removed. It returns a function that restores the field. Until then, responses are not validated, because
// such values need not be valid.
func (w *World) Alter(path, name string) (restore func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := fieldNamed(reflect.ValueOf(w.objects[path]).Elem(), name)
	if !f.IsValid() {
		w.tb.Fatalf("gcptest: %s has no field %s", path, name)
	}
	before := reflect.New(f.Type()).Elem()
	before.Set(f)
	f.Set(altered(f))
	w.altered++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		f.Set(before)
		w.altered--
	}
}

func (w *World) hasAltered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.altered > 0
}

// fieldNamed returns the field of a struct with a name in JSON, also of an embedded struct.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return v.FieldByIndex(f.Index)
		}
	}
	return reflect.Value{}
}

// altered returns a copy of a value in which every part differs.
func altered(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString("x" + v.String() + "x")
	case reflect.Bool:
		out.SetBool(!v.Bool())
	case reflect.Int64, reflect.Int:
		out.SetInt(v.Int() + 1)
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(altered(v.Elem()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = reflect.Append(out, altered(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "ServerResponse" && name != "ForceSendFields" && name != "NullFields" {
				out.Field(i).Set(altered(v.Field(i)))
			}
		}
	default: // a map loses its entries
	}
	return out
}
