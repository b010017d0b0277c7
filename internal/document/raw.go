package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Raw is a part of a document that belongs to another system, such as a pod
// spec. It is kept as JSON and checked by the package of that system.
type Raw struct{ json []byte }

// RawJSON keeps data, which must be valid JSON.
func RawJSON(data []byte) (Raw, error) {
	if !json.Valid(data) {
		return Raw{}, fmt.Errorf("keep raw configuration: %d bytes are not JSON", len(data))
	}
	return Raw{json: bytes.Clone(data)}, nil
}

// IsZero reports whether nothing was given.
func (r Raw) IsZero() bool { return len(r.json) == 0 }

// JSON is the part as JSON, nil when nothing was given.
func (r Raw) JSON() []byte { return bytes.Clone(r.json) }

// Equal reports whether both are written the same.
func (r Raw) Equal(o Raw) bool { return bytes.Equal(r.json, o.json) }

// Check calls validate, which knows the other system, with the part as JSON and
// reports what it refuses at path. Nothing given is nothing refused.
func (r Raw) Check(path string, validate func([]byte) error) Errors {
	var e Errors
	if r.IsZero() || validate == nil {
		return nil
	}
	if err := validate(r.JSON()); err != nil {
		e.Add(path, "%v", err)
	}
	return e
}

// CheckMapping reports at path that something else than a mapping was given.
func (r Raw) CheckMapping(path string) Errors {
	var e Errors
	e.Check(r.IsZero() || r.json[0] == '{', path, "must be a mapping")
	return e
}

// MarshalDocument writes the part back.
func (r Raw) MarshalDocument() any {
	if r.IsZero() {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.json))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil { // it was valid when it was kept
		panic(err)
	}
	return out
}

// UnmarshalDocument keeps whatever stands there, as long as JSON can say it.
func (r *Raw) UnmarshalDocument(v Value) {
	out, ok := v.plainValue(v.node, v.path)
	if !ok {
		return
	}
	data, err := json.Marshal(out)
	if err != nil {
		v.Complain("cannot be written as JSON: "+err.Error(), "")
		return
	}
	r.json = data
}

func (v Value) plainValue(n *yaml.Node, path string) (any, bool) {
	switch n.Kind { //nolint:exhaustive // aliases and documents are gone by now
	case yaml.MappingNode:
		out, seen, ok := map[string]any{}, map[string]int{}, true
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if !v.dec.decodeKey(key, path, seen) {
				ok = false
				continue
			}
			v.dec.noteLine(key, Join(path, key.Value))
			child, fine := v.plainValue(n.Content[i+1], Join(path, key.Value))
			out[key.Value], ok = child, ok && fine
		}
		return out, ok
	case yaml.SequenceNode:
		out, ok := make([]any, len(n.Content)), true
		for i, c := range n.Content {
			v.dec.noteLine(c, Index(path, i))
			child, fine := v.plainValue(c, Index(path, i))
			out[i], ok = child, ok && fine
		}
		return out, ok
	}
	return v.plainScalar(n, path)
}

func (v Value) plainScalar(n *yaml.Node, path string) (any, bool) {
	switch n.Tag {
	case "!!null":
		return nil, true
	case "!!bool":
		b, ok := parseBool(n.Value)
		return b, ok
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i, true
		}
		f, ok := v.dec.decodeNumber(n, path)
		return f, ok
	case "!!float":
		f, ok := v.dec.decodeNumber(n, path)
		return f, ok
	case "!!str", "!!timestamp":
		return n.Value, true
	}
	v.dec.addProblem(n, path, "is "+describeNode(n)+", which has no place in configuration", "")
	return nil, false
}
