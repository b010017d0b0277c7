package document

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry describes one key of a document in the reference.
type Entry struct {
	// Path contains "[]" for any list index, "<name>" for any key of a mapping, and "(aws)" after a
	// union for keys that only this type has.
	Path    string
	Kind    string
	Default string
	Doc     string
}

// Shaper is implemented by types whose written form differs from their Go type.
type Shaper interface{ DocumentShape() string }

// Reference returns all keys of v, a struct with its defaults.
func Reference(v any) []Entry {
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	r := reference{}
	r.addFields(p.Elem(), "")
	return r.entries
}

type reference struct {
	entries []Entry
	open    []reflect.Type
}

func (r *reference) addFields(v reflect.Value, path string) {
	if slices.Contains(r.open, v.Type()) { // a recursive type is described once
		return
	}
	r.open = append(r.open, v.Type())
	for _, f := range fieldsOf(v) {
		at := Join(path, f.key)
		kind, inner, suffix := fieldShape(f.value)
		r.entries = append(r.entries, Entry{Path: at, Kind: kind, Default: shownDefault(f.value, kind), Doc: f.doc()})
		r.listInside(inner, at+suffix)
	}
	r.open = r.open[:len(r.open)-1]
}

// listInside adds the keys below a value.
func (r *reference) listInside(v reflect.Value, path string) {
	if !v.IsValid() {
		return
	}
	if u, ok := v.Addr().Interface().(Union); ok {
		for _, variant := range u.Variants() {
			field := reflect.ValueOf(variant.Field).Elem()
			if field.IsNil() {
				field = newValue(field.Type().Elem())
			}
			r.addFields(field.Elem(), path+"("+variant.Type+")")
		}
		return
	}
	if v.Kind() == reflect.Struct {
		r.addFields(v, path)
	}
}

// fieldShape describes the written form of a field, and returns the struct inside it.
func fieldShape(v reflect.Value) (kind string, inner reflect.Value, suffix string) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v = newValue(v.Type().Elem())
		}
		return fieldShape(v.Elem())
	}
	switch x := v.Addr().Interface().(type) {
	case Shaper:
		return x.DocumentShape(), reflect.Value{}, ""
	case Concealed:
		return "secret", reflect.Value{}, ""
	case Union:
		var types []string
		for _, variant := range x.Variants() {
			types = append(types, variant.Type)
		}
		return "type: " + strings.Join(types, ", "), v, ""
	case encoding.TextUnmarshaler:
		return "text", reflect.Value{}, ""
	}
	switch v.Kind() { //nolint:exhaustive // the kinds that documents have
	case reflect.Struct:
		return "mapping", v, ""
	case reflect.Slice:
		k, in, s := fieldShape(newValue(v.Type().Elem()).Elem())
		return "list of " + k, in, "[]" + s
	case reflect.Map:
		k, in, s := fieldShape(newValue(v.Type().Elem()).Elem())
		return "map of " + k, in, ".<name>" + s
	case reflect.Bool:
		return "true or false", reflect.Value{}, ""
	case reflect.Int, reflect.Int64:
		return "whole number", reflect.Value{}, ""
	case reflect.Float64:
		return "number", reflect.Value{}, ""
	}
	return "text", reflect.Value{}, ""
}

func shownDefault(v reflect.Value, kind string) string {
	if v.Kind() == reflect.Pointer && v.IsNil() || strings.HasPrefix(kind, "type: ") || kind == "mapping" {
		return ""
	}
	e := encoder{secret: Concealed.Conceal}
	n := e.encodeValue(v, reflect.Value{}, "")
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return n.Value
	}
	return ""
}

// WriteReference writes the reference page of a document: one row per key, with its flag and
// environment variable.
func WriteReference(w io.Writer, title string, entries []Entry, overrides []Override) error {
	by := map[string]Override{}
	for _, o := range overrides {
		by[o.Path] = o
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	b.WriteString("Generated from the types that read the file. `[]` is any entry of a list, `<name>` any\n" +
		"key of a mapping, and `(aws)` for keys that only this type has. A flag wins over its variable, the\n" +
		"variable over the file.\n\n")
	b.WriteString("| key | value | default | meaning | flag, variable |\n|---|---|---|---|---|\n")
	for _, e := range entries {
		given := ""
		if o, ok := by[e.Path]; ok {
			given = fmt.Sprintf("`--%s`, `%s`", o.Flag, o.Env)
		}
		def := e.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", e.Path, e.Kind, def, strings.ReplaceAll(e.Doc, "|", "\\|"), given)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// DocumentShape describes the written form.
func (Duration) DocumentShape() string { return "duration" }

// DocumentShape describes the written form.
func (Seconds) DocumentShape() string { return "seconds or duration" }

// DocumentShape describes the written form.
func (Raw) DocumentShape() string { return "raw" }

// DocumentShape describes the written form.
func (Secret) DocumentShape() string { return "text, never shown" }
