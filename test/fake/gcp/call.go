package gcptest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"google.golang.org/api/compute/v1"
)

// act implements one method. It returns the body of the response, or nil for an empty one.
type act func(c *call) (any, error)

// call is one parsed and validated request.
type call struct {
	*World
	*route
	request *http.Request
	params  map[string]string
	query   url.Values
	body    []byte // the JSON part of the request
	upload  *upload
	caller  *Caller
	// properties holds the top-level fields of the body once it was parsed.
	properties map[string]json.RawMessage
	try        *attempt
	// newDisks are the disks created together with an instance.
	newDisks []*compute.Disk
	// deadline is the time at which a waiting call returns at the latest.
	deadline time.Time
}

// decode parses the body of a request, which was validated against the schema of T.
func decode[T any](c *call) *T {
	v := new(T)
	if len(c.body) == 0 {
		return v
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		c.tb.Errorf("gcptest: %s: read the body: %v", c.ID, err)
	}
	return v
}

// sent returns the fields present in the body, so that an update can keep the others.
func (c *call) sent() map[string]json.RawMessage {
	if c.properties == nil {
		c.properties = make(map[string]json.RawMessage)
		if len(c.body) > 0 {
			_ = json.Unmarshal(c.body, &c.properties) // validated against its schema before
		}
	}
	return c.properties
}

// patch applies the body to v as a JSON merge patch: null deletes a field, objects are merged, and
// arrays are replaced. https://cloud.google.com/compute/docs/api/improve-api-performance#patch
// https://cloud.google.com/storage/docs/json_api/v1/how-tos/performance#patch
func patch[T any](c *call, v *T) (*T, error) {
	var body any
	if err := json.Unmarshal(c.body, &body); err != nil {
		return nil, invalid("%v", err)
	}
	b, err := json.Marshal(mergePatch(asMap(v), body))
	out := new(T)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		return nil, invalid("%v", err)
	}
	return out, nil
}

// mergePatch: https://www.rfc-editor.org/rfc/rfc7396#section-2
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := make(map[string]any)
	if old, ok := target.(map[string]any); ok {
		maps.Copy(out, old)
	}
	for name, v := range changes {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = mergePatch(out[name], v)
	}
	return out
}

// clone copies an object of a generated type through its JSON encoding.
func clone[T any](v *T) *T {
	out := new(T)
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		panic(err) // the generated types are valid JSON
	}
	return out
}

// field returns a pointer to the field of that name, or nil.
func field[F any](v any, name string) *F {
	f := reflect.ValueOf(v).Elem().FieldByName(name)
	if !f.IsValid() {
		return nil
	}
	p, _ := f.Addr().Interface().(*F) // a field of another type does not count
	return p
}

func set[F any](v any, name string, value F) {
	if p := field[F](v, name); p != nil {
		*p = value
	}
}

func read[F any](v any, name string) (out F) {
	if p := field[F](v, name); p != nil {
		return *p
	}
	return out
}

// asText decodes a JSON string. It returns "" for other values.
func asText(raw json.RawMessage) (s string) {
	if raw != nil {
		_ = json.Unmarshal(raw, &s) // other values are not strings
	}
	return s
}
