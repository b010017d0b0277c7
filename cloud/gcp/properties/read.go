package properties

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// reader decodes JSON into the generated types of Google's API and collects validation errors.
type reader struct{ problems Problems }

func (r *reader) complain(at, text, hint string) {
	r.problems = append(r.problems, Problem{at, text, hint})
}

// readValue decodes raw, a value of encoding/json, into v. Null counts as absent.
func (r *reader) readValue(raw any, v reflect.Value, at string) {
	if raw == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.readValue(raw, v.Elem(), at)
	case reflect.Struct:
		r.readFields(raw, v, at)
	case reflect.Slice:
		r.readList(raw, v, at)
	case reflect.Map:
		r.readMap(raw, v, at)
	default:
		r.readScalar(raw, v, at)
	}
}

func (r *reader) readFields(raw any, v reflect.Value, at string) {
	keys, ok := raw.(map[string]any)
	if !ok {
		r.complain(at, "must be a mapping (is "+describe(raw)+")", "")
		return
	}
	known := fieldsOf(v.Type())
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		field, found := known[key]
		if !found {
			r.complainUnknown(join(at, key), key, slices.Sorted(maps.Keys(known)))
			continue
		}
		target := v.FieldByName(field)
		r.readValue(keys[key], target, join(at, key))
		if keys[key] != nil && target.IsZero() {
			keepZero(v, field)
		}
	}
}

// keepZero adds a field to ForceSendFields, so that an explicit 0, false or empty value is sent.
func keepZero(v reflect.Value, field string) {
	sent := v.FieldByName("ForceSendFields")
	if sent.IsValid() {
		sent.Set(reflect.Append(sent, reflect.ValueOf(field)))
	}
}

// fieldsOf returns the field names of a generated type by their JSON keys.
func fieldsOf(t reflect.Type) map[string]string {
	out := make(map[string]string)
	for f := range t.Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			out[key] = f.Name
		}
	}
	return out
}

func (r *reader) complainUnknown(at, key string, known []string) {
	hint := ""
	if nearest := naming.Nearest(key, known); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	r.complain(at, "unknown key", hint)
}

func (r *reader) readList(raw any, v reflect.Value, at string) {
	items, ok := raw.([]any)
	if !ok {
		r.complain(at, "must be a list (is "+describe(raw)+")", "")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", at, i)
		if item == nil {
			r.complain(place, "is empty", "remove it or give it a value")
			continue
		}
		r.readValue(item, out.Index(i), place)
	}
	v.Set(out)
}

func (r *reader) readMap(raw any, v reflect.Value, at string) {
	keys, ok := raw.(map[string]any)
	if !ok {
		r.complain(at, "must be a mapping (is "+describe(raw)+")", "")
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		item := reflect.New(v.Type().Elem()).Elem()
		r.readValue(keys[key], item, join(at, key))
		out.SetMapIndex(reflect.ValueOf(key), item)
	}
	v.Set(out)
}

func (r *reader) readScalar(raw any, v reflect.Value, at string) {
	if b, ok := raw.(bool); ok && v.Kind() == reflect.Bool {
		v.SetBool(b)
		return
	}
	text, ok := textOf(raw)
	if !ok || !setText(v, text) {
		r.complain(at, "must be "+describeKind(v.Kind())+" (is "+describe(raw)+")", "")
	}
}

// setText parses text into v, a string or a number, and reports whether it succeeded.
func setText(v reflect.Value, text string) bool {
	switch v.Kind() { //nolint:exhaustive // the generated types have no others
	case reflect.String:
		v.SetString(text)
		return true
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
		return err == nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		return err == nil
	}
	return false
}

func textOf(raw any) (string, bool) {
	switch x := raw.(type) {
	case string:
		return x, true
	case json.Number:
		return x.String(), true
	}
	return "", false
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
