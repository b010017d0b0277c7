package document

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Value is one place of a document, for types that decode themselves.
type Value struct {
	node *yaml.Node
	path string
	dec  *decoder
}

// IsText reports whether the value is a single word or number, IsMapping and
// IsList whether it has keys or entries.
func (v Value) IsText() bool { return v.node.Kind == yaml.ScalarNode }

// IsMapping reports whether the value has keys.
func (v Value) IsMapping() bool { return v.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node.Kind == yaml.SequenceNode }

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool { return v.node.Tag == "!!int" || v.node.Tag == "!!float" }

// IsBool reports whether the value is written as a truth value.
func (v Value) IsBool() bool {
	_, ok := parseBool(v.node.Value)
	return v.IsText() && ok && v.node.Style == 0
}

// Text is the value of a text, number or truth value as it is written.
func (v Value) Text() string { return v.node.Value }

// Path names the place.
func (v Value) Path() string { return v.path }

// Decode reads the value into what into points to. A type that decodes itself
// must pass a pointer to another type, or it would be called again.
func (v Value) Decode(into any) bool {
	before := len(v.dec.problems)
	v.dec.decodeValue(v.node, v.path, reflect.ValueOf(into).Elem())
	return len(v.dec.problems) == before
}

// Complain reports that the value breaks a rule; hint may be empty.
func (v Value) Complain(text, hint string) { v.dec.addProblem(v.node, v.path, text, hint) }

// HasOnly reports whether a mapping has no key but those of keys, and at least one.
func (v Value) HasOnly(keys ...string) bool {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if !slices.Contains(keys, v.node.Content[i].Value) {
			return false
		}
	}
	return v.IsMapping() && len(v.node.Content) > 0
}

// Has reports whether a mapping has a key.
func (v Value) Has(key string) bool { return v.IsMapping() && Map{v.node}.Has(key) }
