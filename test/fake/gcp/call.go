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

// act answers one method. What it returns is the answer's body, or nil for none.
type act func(c *call) (any, error)

// call is one request, read and checked.
type call struct {
	*World
	*route
	request *http.Request
	params  map[string]string
	query   url.Values
	body    []byte // JSON of the request, without its media
	upload  *upload
	caller  *Caller
	// properties is what the body names, once it was read.
	properties map[string]json.RawMessage
	try        *attempt
	// newDisks are those that a machine in the making brings.
	newDisks []*compute.Disk
	// deadline is when a call that waits answers in any case.
	deadline time.Time
}

// decode reads the body of a request, which was held against the schema that T was
// generated from.
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

// sent is the properties that the body names, so that an update can leave the others.
func (c *call) sent() map[string]json.RawMessage {
	if c.properties == nil {
		c.properties = make(map[string]json.RawMessage)
		if len(c.body) > 0 {
			_ = json.Unmarshal(c.body, &c.properties) // held against its schema before
		}
	}
	return c.properties
}

// patch puts what the body names over v, as a JSON merge patch does: what is null goes,
// objects are merged, and arrays are replaced as a whole.
// https://cloud.google.com/compute/docs/api/improve-api-performance#patch
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

// clone copies an object of Google's through its JSON.
func clone[T any](v *T) *T {
	out := new(T)
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		panic(err) // Google's structs are JSON
	}
	return out
}

// field is where a field of that name stands in an object, or nil.
func field[F any](v any, name string) *F {
	f := reflect.ValueOf(v).Elem().FieldByName(name)
	if !f.IsValid() {
		return nil
	}
	p, _ := f.Addr().Interface().(*F) // another type: not that field
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

// asText reads a JSON text; anything else is empty.
func asText(raw json.RawMessage) (s string) {
	if raw != nil {
		_ = json.Unmarshal(raw, &s) // another value is no text
	}
	return s
}
