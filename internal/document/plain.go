package document

import (
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// ShowWithSecrets is a configuration as JSON-able maps with the keys of the document, its secrets
// disclosed and what is as it is by default left out: reading it gives v again.
func ShowWithSecrets(v any) (map[string]any, error) {
	e := encoder{secret: Concealed.Disclose, compact: true, plain: true}
	n := e.encodeValue(reflect.ValueOf(v), newValue(reflect.Indirect(reflect.ValueOf(v)).Type()).Elem(), "")
	return plainMapping(n), e.problems.Err()
}

// plainMapping is a tree of our own making as JSON-able values.
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
		panic(err) // the tree is of our own making
	}
	return out
}
