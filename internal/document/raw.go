package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Raw is a part of a document that belongs to another system, such as a pod spec. It is stored as
// JSON and validated by the package of that system.
type Raw struct{ json []byte }

// RawJSON returns a Raw of data. It returns an error if data is not valid JSON.
func RawJSON(data []byte) (Raw, error) {
	if !json.Valid(data) {
		return Raw{}, fmt.Errorf("store raw configuration: invalid JSON (%d bytes)", len(data))
	}
	return Raw{json: bytes.Clone(data)}, nil
}

// IsZero reports whether the part is not set.
func (r Raw) IsZero() bool { return len(r.json) == 0 }

// JSON returns the part as JSON, or nil if it is not set.
func (r Raw) JSON() []byte { return bytes.Clone(r.json) }

// Equal reports whether both parts have the same JSON.
func (r Raw) Equal(o Raw) bool { return bytes.Equal(r.json, o.json) }

// Check calls validate with the part as JSON and reports its error at path. It does nothing if the
// part is not set.
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

// CheckMapping reports an error at path if the part is not a mapping.
func (r Raw) CheckMapping(path string) Errors {
	var e Errors
	e.Check(r.IsZero() || r.json[0] == '{', path, "must be a mapping")
	return e
}

// MarshalDocument returns the decoded part.
func (r Raw) MarshalDocument() any {
	if r.IsZero() {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.json))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil { // it was validated before
		panic(err)
	}
	return out
}

// UnmarshalDocument stores any value that can be represented in JSON.
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
	v.dec.addProblem(n, path, "is "+describeNode(n)+", which is not supported", "")
	return nil, false
}
