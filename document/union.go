package document

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// typeKey chooses the shape of a union.
const typeKey = "type"

func (d *decoder) decodeUnion(n *yaml.Node, path string, u Union) {
	if !d.expectKind(n, path, yaml.MappingNode, "a mapping with the key type") {
		return
	}
	variants := u.Variants()
	chosen, rest, ok := d.chooseVariant(n, path, variants)
	if !ok {
		d.problems[len(d.problems)-1].Unread = path // nothing in it was read
		return
	}
	for i, v := range variants {
		field := reflect.ValueOf(v.Field).Elem()
		switch {
		case i != chosen:
			field.SetZero()
		case field.IsNil():
			field.Set(newValue(field.Type().Elem()))
		}
	}
	d.decodeFields(rest, path, reflect.ValueOf(variants[chosen].Field).Elem().Elem())
}

// chooseVariant finds the variant that the type key names, and the mapping without it.
func (d *decoder) chooseVariant(n *yaml.Node, path string, variants []Variant) (int, *yaml.Node, bool) {
	rest := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Line: n.Line}
	var key, value *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value == typeKey && k.Kind == yaml.ScalarNode && key == nil {
			key, value = k, n.Content[i+1]
			continue
		}
		rest.Content = append(rest.Content, n.Content[i], n.Content[i+1])
	}
	var names []string
	for i, v := range variants {
		names = append(names, v.Type)
		set := value != nil && value.Kind == yaml.ScalarNode && !isNull(value)
		if (set && value.Value == v.Type) || (value == nil && v.Default) {
			if key != nil {
				d.notePath(value, Join(path, typeKey))
			}
			return i, rest, true
		}
	}
	at, oneOf := Join(path, typeKey), "one of "+strings.Join(names, ", ")
	switch {
	case value == nil:
		d.addProblem(n, at, "is required: "+oneOf, "")
	case value.Kind != yaml.ScalarNode || isNull(value):
		d.addProblem(value, at, "must be "+oneOf+"; is "+describeNode(value), "")
	default:
		hint := ""
		if k := nearestName(value.Value, names); k != "" {
			hint = "did you mean " + k + "?"
		}
		d.addProblem(value, at, fmt.Sprintf("must be %s (is %q)", oneOf, value.Value), hint)
	}
	return 0, nil, false
}
