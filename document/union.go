package document

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// typeKey chooses the shape of a union.
const typeKey = "type"

func (d *decoder) union(n *yaml.Node, path string, u Union) {
	if !d.want(n, path, yaml.MappingNode, "a mapping with the key type") {
		return
	}
	variants := u.Variants()
	chosen, rest, ok := d.choose(n, path, variants)
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
			field.Set(fresh(field.Type().Elem()))
		}
	}
	d.fields(rest, path, reflect.ValueOf(variants[chosen].Field).Elem().Elem())
}

// choose finds the variant that the type key names, and the mapping without it.
func (d *decoder) choose(n *yaml.Node, path string, variants []Variant) (int, *yaml.Node, bool) {
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
				d.note(value, Join(path, typeKey))
			}
			return i, rest, true
		}
	}
	at, oneOf := Join(path, typeKey), "one of "+strings.Join(names, ", ")
	switch {
	case value == nil:
		d.complain(n, at, "is required: "+oneOf, "")
	case value.Kind != yaml.ScalarNode || isNull(value):
		d.complain(value, at, "must be "+oneOf+"; is "+describe(value), "")
	default:
		hint := ""
		if k := nearest(value.Value, names); k != "" {
			hint = "did you mean " + k + "?"
		}
		d.complain(value, at, fmt.Sprintf("must be %s (is %q)", oneOf, value.Value), hint)
	}
	return 0, nil, false
}
