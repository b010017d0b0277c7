package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// schema is the version of the JSON and YAML output of objects.
const schema = "det-deploy/v2"

// Object returns the JSON output of an answer of the master's API, as a value of encoding/json:
// one shape for each kind, whichever call returned it. A response with several things is a list with the
// key items, and a response about one thing is that thing, with the other fields of the response. Enums are
// in lower case and without their prefix, and whole numbers are numbers. Free values stay as they are.
func Object(m proto.Message) (map[string]any, error) {
	if free, ok := m.(*structpb.Struct); ok {
		return free.AsMap(), nil
	}
	r := m.ProtoReflect()
	main := mainField(r.Descriptor())
	if main == nil {
		return withKind(r, fieldsOf)
	}
	if !main.IsList() {
		return withKind(r, mergedFields)
	}
	items := []any{}
	list := r.Get(main).List()
	for i := range list.Len() {
		item, err := itemOf(list.Get(i).Message())
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return List(kindOf(main.Message()), items), nil
}

// List returns the JSON output of a list of things of a kind.
func List(kind string, items any) map[string]any {
	return map[string]any{"apiVersion": schema, "kind": kind + "List", "items": items}
}

func withKind(m protoreflect.Message, fields func(protoreflect.Message) (map[string]any, error)) (map[string]any, error) {
	out, err := fields(m)
	if err != nil {
		return nil, err
	}
	kind := kindOf(m.Descriptor())
	if main := mainField(m.Descriptor()); main != nil {
		kind = kindOf(main.Message())
	}
	out["apiVersion"], out["kind"] = schema, kind
	return out, nil
}

// itemOf returns an item of a list. The items of some responses are wrapped.
func itemOf(m protoreflect.Message) (map[string]any, error) {
	if full := m.Descriptor().Fields().ByName("full"); full != nil && m.Has(full) {
		return fieldsOf(m.Get(full).Message())
	}
	return fieldsOf(m)
}

// mainField returns the field with what a response is about, which is a message at its start, or nil for any
// other message.
func mainField(d protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	if !strings.HasSuffix(string(d.Name()), "Response") {
		return nil
	}
	for i := range min(2, d.Fields().Len()) {
		f := d.Fields().Get(i)
		if f.Kind() == protoreflect.MessageKind && !f.IsMap() && !isWellKnown(f.Message()) && f.Message().Name() != "Pagination" {
			return f
		}
	}
	return nil
}

// kindOf returns the kind of a message: its name in the API, unless det-deploy has another word.
func kindOf(d protoreflect.MessageDescriptor) string {
	name := string(d.Name())
	for _, k := range [][2]string{
		{"Command", "Task"}, {"RBACJob", "Job"}, {"ResourcePool", "Pool"}, {"ResourceUsage", "Usage"}, {"MetricsReport", "Metrics"},
	} {
		if name == k[0] {
			return k[1]
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "Get"), "Response")
}

// mergedFields returns the fields of the thing that a response is about, and the other fields of the response.
func mergedFields(m protoreflect.Message) (map[string]any, error) {
	out, err := fieldsOf(m)
	if err != nil {
		return nil, err
	}
	main := mainField(m.Descriptor())
	thing, err := fieldsOf(m.Get(main).Message())
	delete(out, main.JSONName())
	delete(out, "pagination")
	maps.Copy(out, thing)
	return out, err
}

// fieldsOf returns the fields of a message as protojson with default values does, apart from enums and
// numbers.
func fieldsOf(m protoreflect.Message) (map[string]any, error) {
	out := map[string]any{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		v, err := valueOf(f, m.Get(f))
		if err != nil {
			return nil, err
		}
		out[f.JSONName()] = v
	}
	derive(out, m.Interface())
	return out, nil
}

func valueOf(f protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch {
	case f.IsList():
		list := []any{}
		for i := range v.List().Len() {
			one, err := singleOf(f, v.List().Get(i))
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	case f.IsMap():
		out := map[string]any{}
		var err error
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()], err = singleOf(f.MapValue(), v)
			return err == nil
		})
		return out, err
	default:
		return singleOf(f, v)
	}
}

func singleOf(f protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return word(f.Enum(), v.Enum()), nil
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if isWellKnown(f.Message()) {
			return wellKnown(v.Message().Interface())
		}
		return fieldsOf(v.Message())
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return finite(v.Float()), nil
	default:
		return v.Interface(), nil
	}
}

// word returns the name of an enum value in lower case, without the prefix that all its values share; "" if it
// is unspecified.
func word(d protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	v := d.Values().ByNumber(n)
	zero := d.Values().ByNumber(0)
	if v == nil || zero == nil {
		return fmt.Sprint(n)
	}
	prefix, named := strings.CutSuffix(string(zero.Name()), "UNSPECIFIED")
	if n == 0 && named {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix))
}

func isWellKnown(d protoreflect.MessageDescriptor) bool {
	return strings.HasPrefix(string(d.FullName()), "google.protobuf.")
}

// wellKnown returns a time, a duration, a wrapper or a free value as protojson does, with numbers as numbers.
func wellKnown(m proto.Message) (any, error) {
	if f := m.ProtoReflect().Descriptor().Fields().ByName("value"); f != nil && f.Kind() != protoreflect.MessageKind && f.Kind() != protoreflect.BytesKind {
		return singleOf(f, m.ProtoReflect().Get(f))
	}
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	var out any
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	return out, nil
}
