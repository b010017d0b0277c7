package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Marshaler is implemented by types whose written form differs from the Go type. The returned value
// is written instead.
type Marshaler interface{ MarshalDocument() any }

// Show returns a configuration, including defaults, as a JSON-compatible map with the keys of the
// document. Secrets are masked.
func Show(v any) map[string]any {
	e := encoder{secret: Concealed.Conceal, plain: true}
	return plainMapping(e.encodeValue(reflect.ValueOf(v), reflect.Value{}, ""))
}

// YAML returns the document with its overrides.
func (d *Document) YAML() ([]byte, error) { return yaml.Marshal(d.root) }

// Marshal returns v as YAML without default values, so that decoding it returns v. It returns an
// error for a secret that is not a reference; use MarshalWithSecrets for a file that may contain
// secrets.
func Marshal(v any) ([]byte, error) {
	e := encoder{secret: Concealed.Disclose, compact: true, refuse: true}
	return e.encodeYAML(v)
}

// MarshalWithSecrets is like Marshal, but writes secrets. The file must be readable only by its
// owner.
func MarshalWithSecrets(v any) ([]byte, error) {
	e := encoder{secret: Concealed.Disclose, compact: true}
	return e.encodeYAML(v)
}

// Setting is a setting and its source.
type Setting struct {
	Path   string `json:"path"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Settings returns all scalar settings of v in order, with secrets masked.
func Settings(v any) []Setting {
	e := encoder{secret: Concealed.Conceal}
	var out []Setting
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i := range n.Content {
			switch {
			case n.Kind == yaml.SequenceNode:
				walk(n.Content[i], Index(path, i))
			case i%2 == 1:
				walk(n.Content[i], Join(path, n.Content[i-1].Value))
			}
		}
		if n.Kind == yaml.ScalarNode {
			out = append(out, Setting{Path: path, Value: n.Value})
		}
	}
	walk(e.encodeValue(reflect.ValueOf(v), reflect.Value{}, ""), "")
	return out
}

type encoder struct {
	secret  func(Concealed) string
	compact bool
	refuse  bool
	// plain is true if the tree is converted to values and not to text, so that quoting does not
	// matter.
	plain    bool
	problems Errors
}

func (e *encoder) encodeYAML(v any) ([]byte, error) {
	n := e.encodeValue(reflect.ValueOf(v), newValue(reflect.Indirect(reflect.ValueOf(v)).Type()).Elem(), "")
	if err := e.problems.Err(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

// encodeValue encodes v; base is the default value, or invalid.
func (e *encoder) encodeValue(v, base reflect.Value, path string) *yaml.Node {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nullNode()
		}
		if base.IsValid() && base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return nullNode()
	}
	if !v.CanAddr() {
		a := reflect.New(v.Type()).Elem()
		a.Set(v)
		v = a
	}
	switch x := v.Addr().Interface().(type) {
	case Concealed:
		return e.encodeConcealed(x, path)
	case *json.Number:
		return formatNumber(*x)
	case Marshaler:
		return e.encodeValue(reflect.ValueOf(x.MarshalDocument()), reflect.Value{}, path)
	case Union:
		return e.encodeUnion(x, path)
	case encoding.TextMarshaler:
		s, err := x.MarshalText()
		if err != nil {
			e.problems.Add(path, "cannot be written: %v", err)
		}
		return e.encodeScalar(reflect.ValueOf(string(s)))
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		e.encodeFields(n, v, base, path)
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			n.Content = append(n.Content, e.encodeValue(v.Index(i), newValue(v.Type().Elem()).Elem(), Index(path, i)))
		}
		return n
	case reflect.Map:
		return e.encodeMapping(v, path)
	default:
		return e.encodeScalar(v)
	}
}

// wholeLimit is less than the smallest whole number that YAML and JSON write with an exponent.
const wholeLimit = 1e15

// encodeScalar bypasses the YAML encoder if the tree is not converted to text.
func (e *encoder) encodeScalar(v reflect.Value) *yaml.Node {
	if e.plain && v.Type() != reflect.TypeFor[time.Duration]() { // written as text
		switch v.Kind() { //nolint:exhaustive // others are rare
		case reflect.String:
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.String()}
		case reflect.Bool:
			return simpleNode(v.Bool())
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
		case reflect.Float64:
			if f := v.Float(); f == math.Trunc(f) && math.Abs(f) < wholeLimit {
				return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(int64(f), 10)}
			}
		}
	}
	return scalarNode(v.Interface())
}

func (e *encoder) encodeConcealed(x Concealed, path string) *yaml.Node {
	if x.IsZero() {
		return e.encodeScalar(reflect.ValueOf(""))
	}
	if e.refuse && x.Conceal() == Masked {
		e.problems.Add(path, "contains a secret; use a reference to a secret")
	}
	return e.encodeScalar(reflect.ValueOf(e.secret(x)))
}

func (e *encoder) encodeFields(n *yaml.Node, v, base reflect.Value, path string) {
	var defaults fields
	if base.IsValid() {
		defaults = fieldsOf(base)
	}
	for i, f := range fieldsOf(v) {
		var d reflect.Value
		if defaults != nil {
			d = defaults[i].value
		}
		if e.compact && d.IsValid() && reflect.DeepEqual(f.value.Interface(), d.Interface()) {
			continue
		}
		if d.IsValid() && d.Kind() == reflect.Pointer && d.IsNil() {
			d = newValue(d.Type().Elem())
		}
		putKey(n, f.key, e.encodeValue(f.value, d, Join(path, f.key)))
	}
}

func (e *encoder) encodeUnion(u Union, path string) *yaml.Node {
	for _, v := range u.Variants() {
		field := reflect.ValueOf(v.Field).Elem()
		if field.IsNil() {
			continue
		}
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		putKey(n, typeKey, scalarNode(v.Type))
		e.encodeFields(n, field.Elem(), newValue(field.Type().Elem()).Elem(), path)
		return n
	}
	return nullNode()
}

func (e *encoder) encodeMapping(v reflect.Value, path string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		putKey(n, k.String(), e.encodeValue(v.MapIndex(k), reflect.Value{}, Join(path, k.String())))
	}
	return n
}
