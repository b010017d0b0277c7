package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/det-deploy/det-deploy/test/golden"
)

const openapiFile = "../../docs/reference/openapi.json"

// The reference page is generated from the route table and the messages. Run with -update to rewrite it.
func TestAPIReferenceIsFresh(t *testing.T) {
	t.Parallel()
	// It lists the routes of a complete master; no call is made.
	w := newWorld(t, func(c *Config) {
		c.Experiments, c.Trials, c.TrialMetrics = struct{ Experiments }{}, struct{ Trials }{}, struct{ TrialMetrics }{}
		c.Checkpoints, c.TensorBoards = struct{ Checkpoints }{}, struct{ TensorBoards }{}
	})
	want, err := json.MarshalIndent(document(w.routes()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	golden.Compare(t, openapiFile, string(want))
}

type object = map[string]any

var parameters = regexp.MustCompile(`\{(\w+)\}`)

func document(routes []route) object {
	schemas, paths := object{}, object{}
	for _, r := range routes {
		path := r.fullPath()
		if paths[path] == nil {
			paths[path] = object{}
		}
		op := object{
			"summary":   summary(r),
			"security":  securityOf(r.access),
			"responses": object{"200": object{"description": describe(r), "content": answer(r, schemas)}},
		}
		if r.in != nil {
			op["requestBody"] = object{"content": content(r.in, schemas)}
			if r.list {
				item := object{"type": "array", "items": schema(r.in, schemas)}
				op["requestBody"] = object{"content": object{"application/json": object{"schema": item}}}
			}
		}
		var in []object
		for _, m := range parameters.FindAllStringSubmatch(r.path, -1) {
			in = append(in, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		if in != nil {
			op["parameters"] = in
		}
		paths[path].(object)[strings.ToLower(r.method)] = op
	}
	for f := range requestItems(routes) {
		name := strings.TrimPrefix(string(f.ContainingMessage().FullName()), messages)
		schemas[name].(object)["properties"].(object)[f.JSONName()].(object)["x-request-max-items"] = mostItemsOf(f)
	}
	return object{
		"openapi": "3.0.3",
		"info":    object{"title": "det-deploy master", "version": Version, "description": "The part of the API of Determined " + Version + " that this master answers. Everything else below " + prefix + " is answered 501."},
		"paths":   paths,
		"components": object{"schemas": schemas, "securitySchemes": object{
			"user":       object{"type": "http", "scheme": "bearer"},
			"allocation": object{"type": "apiKey", "in": "header", "name": taskHeader},
		}},
	}
}

func summary(r route) string {
	return map[access]string{
		open: "Anybody may call.", user: "Users may call, also from inside a task.", admin: "Administrators may call.",
		login:      "Users may call, but not from inside a task.",
		person:     "Users may call with a token, but neither from inside a task nor with a cookie.",
		allocation: "The allocation itself may call.", either: "Users and tasks may call.",
	}[r.access]
}

func describe(r route) string {
	if r.socket {
		return "A websocket."
	}
	if r.streams {
		return "A line {\"result\": …} for each item."
	}
	return "The answer."
}

func securityOf(a access) []object {
	none := []string{}
	return map[access][]object{
		open: {}, user: {{"user": none}}, login: {{"user": none}}, person: {{"user": none}}, admin: {{"user": none}}, allocation: {{"allocation": none}},
		either: {{"user": none}, {"allocation": none}},
	}[a]
}

// answer returns the schema of a route's response.
func answer(r route, schemas object) object {
	if r.socket {
		return object{}
	}
	if r.file != "" {
		return object{r.file: object{"schema": object{"type": "string"}}}
	}
	return content(r.out, schemas)
}

func content(m protoreflect.MessageDescriptor, schemas object) object {
	return object{"application/json": object{"schema": schema(m, schemas)}}
}

// schema returns a reference to m, which it adds to schemas with its dependencies.
func schema(m protoreflect.MessageDescriptor, schemas object) object {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time", "nullable": true}
	case "google.protobuf.Struct":
		return object{"type": "object", "nullable": true}
	case "google.protobuf.ListValue":
		return object{"type": "array", "items": object{}, "nullable": true}
	case "google.protobuf.Value":
		return object{"nullable": true}
	case "google.protobuf.StringValue":
		return object{"type": "string", "nullable": true}
	case "google.protobuf.Int32Value":
		return object{"type": "integer", "nullable": true}
	case "google.protobuf.DoubleValue":
		return object{"type": "number", "nullable": true}
	}
	name := strings.TrimPrefix(string(m.FullName()), "detdeploy.api.v1.")
	ref := object{"$ref": "#/components/schemas/" + name}
	if schemas[name] != nil {
		return ref
	}
	properties := object{}
	schemas[name] = object{"type": "object", "properties": properties}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		properties[f.JSONName()] = field(f, schemas)
	}
	return ref
}

func field(f protoreflect.FieldDescriptor, schemas object) object {
	switch {
	case f.IsMap():
		return object{"type": "object", "additionalProperties": value(f.MapValue(), schemas)}
	case f.IsList():
		return object{"type": "array", "items": value(f, schemas)}
	}
	return value(f, schemas)
}

func value(f protoreflect.FieldDescriptor, schemas object) object {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return schema(f.Message(), schemas)
	case protoreflect.EnumKind:
		var names []string
		for i := range f.Enum().Values().Len() {
			names = append(names, string(f.Enum().Values().Get(i).Name()))
		}
		return object{"type": "string", "enum": names}
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.BytesKind:
		return object{"type": "string", "format": "byte"}
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return object{"type": "string", "format": "int64"}
	case protoreflect.Int32Kind, protoreflect.Uint32Kind:
		return object{"type": "integer"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"type": "number"}
	default:
		return object{"type": "string"}
	}
}
