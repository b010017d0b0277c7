package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// ParseJSON parses a document that a program wrote as JSON. It is much faster than Parse, but its
// messages contain no line numbers. Empty data is an empty document. The error is of type Errors.
func ParseJSON(data []byte, name string) (*Document, error) {
	d := New(name)
	if len(data) > MaxBytes {
		return nil, d.refuseLine(0, fmt.Sprintf("is larger than %d bytes", MaxBytes))
	}
	if len(data) == 0 {
		return d, nil
	}
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), left: maxNodes}
	r.dec.UseNumber()
	root, err := r.readNode(0)
	if err == nil {
		if _, more := r.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("is not valid JSON: data after the document")
		}
	}
	if err != nil {
		return nil, d.refuseLine(0, err.Error())
	}
	switch {
	case root.Kind == yaml.MappingNode:
		d.root = root
	case isNull(root):
	default:
		return nil, d.refuseLine(0, "must be a mapping of keys to values, is "+describeNode(root))
	}
	return d, nil
}

// jsonReader builds the same tree from JSON as the YAML parser.
type jsonReader struct {
	dec *json.Decoder
	// left is the number of values still permitted.
	left int
}

func (r *jsonReader) readNode(depth int) (*yaml.Node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	return r.nodeOf(token, depth)
}

func (r *jsonReader) nodeOf(token json.Token, depth int) (*yaml.Node, error) {
	if r.left--; r.left < 0 {
		return nil, fmt.Errorf("has more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested more than %d levels deep", maxDepth)
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		return n, r.readContent(n, depth)
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Style: yaml.DoubleQuotedStyle, Line: 1}, nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: numberTag(v.String()), Value: v.String(), Line: 1}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v), Line: 1}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: 1}, nil
}

// readContent reads the content and the end of a mapping or a list.
func (r *jsonReader) readContent(n *yaml.Node, depth int) error {
	for r.dec.More() {
		child, err := r.readNode(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
	if _, err := r.dec.Token(); err != nil {
		return fmt.Errorf("is not valid JSON: %w", err)
	}
	return nil
}

// numberTag returns the YAML tag of a JSON number.
func numberTag(s string) string {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return "!!int"
	}
	if _, err := strconv.ParseUint(s, 10, 64); err == nil {
		return "!!int"
	}
	return "!!float"
}

// ShowWithSecrets returns a configuration as a JSON-compatible map with the keys of the document,
// with secrets and without default values: decoding it returns v.
func ShowWithSecrets(v any) (map[string]any, error) {
	e := encoder{secret: Concealed.Disclose, compact: true, plain: true}
	n := e.encodeValue(reflect.ValueOf(v), newValue(reflect.Indirect(reflect.ValueOf(v)).Type()).Elem(), "")
	return plainMapping(n), e.problems.Err()
}

// plainMapping converts a tree built by this package to JSON-compatible values.
func plainMapping(n *yaml.Node) map[string]any {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = plainNode(n.Content[i+1])
	}
	return out
}

func plainNode(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.MappingNode:
		return plainMapping(n)
	case n.Kind == yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			out = append(out, plainNode(c))
		}
		return out
	case n.Tag == "!!str":
		return n.Value
	case n.Tag == "!!null":
		return nil
	case n.Tag == "!!bool":
		return n.Value == "true"
	case n.Tag == "!!int":
		if i, err := strconv.Atoi(n.Value); err == nil {
			return i
		}
	}
	var out any
	if err := n.Decode(&out); err != nil {
		panic(err) // the tree was built by this package
	}
	return out
}
