package document

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decodeScalar decodes text, booleans and numbers. A value from a flag or variable is always text;
// one from a file has its YAML type.
func (d *decoder) decodeScalar(n *yaml.Node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s, ok := d.decodeString(n, path); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		b, ok := parseBool(n.Value)
		if n.Kind != yaml.ScalarNode || !ok || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			d.addProblem(n, path, "must be true or false, is "+describeNode(n), "")
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, ok := d.decodeInt(n, path)
		if ok && v.OverflowInt(i) {
			d.addProblem(n, path, "is too large: "+n.Value, "")
		} else if ok {
			v.SetInt(i)
		}
	case reflect.Float64:
		f, ok := d.decodeNumber(n, path)
		if ok {
			v.SetFloat(f)
		}
	default:
		panic(fmt.Sprintf("document: %s has a field of kind %s", path, v.Kind()))
	}
}

func (d *decoder) decodeString(n *yaml.Node, path string) (string, bool) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || d.doc.sources[n] != "") {
		return n.Value, true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode {
		hint = fmt.Sprintf("put it in quotes: %q", n.Value)
	}
	d.addProblem(n, path, "must be text, is "+describeNode(n), hint)
	return "", false
}

// parseBool parses the spellings of YAML 1.1, which the files of older clusters use.
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	}
	return false, false
}

func (d *decoder) decodeInt(n *yaml.Node, path string) (int64, bool) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || d.doc.sources[n] != "") {
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return i, true
		}
	}
	d.addProblem(n, path, "must be a whole number, is "+d.shownValue(n), "")
	return 0, false
}

func (d *decoder) decodeNumber(n *yaml.Node, path string) (float64, bool) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float" || d.doc.sources[n] != "") {
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && f == f && f-f == 0 {
			return f, true
		}
	}
	d.addProblem(n, path, "must be a number, is "+d.shownValue(n), "")
	return 0, false
}

// shownValue quotes a value from a flag or variable; for a file, the message has the line.
func (d *decoder) shownValue(n *yaml.Node) string {
	if d.doc.sources[n] != "" {
		return strconv.Quote(n.Value)
	}
	return describeNode(n)
}

// decodeText decodes with a type's UnmarshalText. Its error is displayed, so it must not contain a
// secret.
func (d *decoder) decodeText(n *yaml.Node, path string, into encoding.TextUnmarshaler) {
	s, ok := d.decodeString(n, path)
	if !ok {
		return
	}
	if err := into.UnmarshalText([]byte(s)); err != nil {
		d.addProblem(n, path, err.Error(), "")
	}
}

// Value is a value of a document, for types that decode themselves.
type Value struct {
	node *yaml.Node
	path string
	dec  *decoder
}

// IsText reports whether the value is a scalar.
func (v Value) IsText() bool { return v.node.Kind == yaml.ScalarNode }

// IsMapping reports whether the value is a mapping.
func (v Value) IsMapping() bool { return v.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node.Kind == yaml.SequenceNode }

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool { return v.node.Tag == "!!int" || v.node.Tag == "!!float" }

// IsBool reports whether the value is written as a boolean.
func (v Value) IsBool() bool {
	_, ok := parseBool(v.node.Value)
	return v.IsText() && ok && v.node.Style == 0
}

// Text returns a scalar as it is written.
func (v Value) Text() string { return v.node.Value }

// Path returns the path of the value.
func (v Value) Path() string { return v.path }

// Decode decodes the value into the variable that into points to, and reports whether it succeeded.
// A type that decodes itself must pass a pointer to another type to avoid recursion.
func (v Value) Decode(into any) bool {
	before := len(v.dec.problems)
	v.dec.decodeValue(v.node, v.path, reflect.ValueOf(into).Elem())
	return len(v.dec.problems) == before
}

// Complain reports a problem of the value; hint may be empty.
func (v Value) Complain(text, hint string) { v.dec.addProblem(v.node, v.path, text, hint) }

// HasOnly reports whether the value is a non-empty mapping whose keys are all in keys.
func (v Value) HasOnly(keys ...string) bool {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if !slices.Contains(keys, v.node.Content[i].Value) {
			return false
		}
	}
	return v.IsMapping() && len(v.node.Content) > 0
}

// Has reports whether the value is a mapping with a key.
func (v Value) Has(key string) bool { return v.IsMapping() && Map{v.node}.Has(key) }
