package document

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// expander copies a tree with aliases and merge keys ("<<") expanded, so that other code need not
// handle them. It stops if the copy becomes too large, because a few hundred bytes of nested
// aliases may expand to gigabytes.
type expander struct {
	left    int
	problem *Problem
}

func (e *expander) expandNode(n *yaml.Node, depth int) *yaml.Node {
	e.left--
	switch {
	case e.problem != nil:
	case e.left < 0:
		e.problem = &Problem{Line: n.Line, Text: fmt.Sprintf("has more than %d values after expanding aliases", maxNodes)}
	case depth > maxDepth:
		e.problem = &Problem{Line: n.Line, Text: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	if e.problem != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
	}
	if n.Kind == yaml.AliasNode {
		return e.expandNode(n.Alias, depth+1)
	}
	c := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value, Style: n.Style, Line: n.Line, Column: n.Column}
	if n.Kind == yaml.MappingNode {
		e.expandMapping(c, n, depth)
		return c
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, e.expandNode(child, depth+1))
	}
	return c
}

// expandMapping copies n's keys, then the merged keys that n does not have.
func (e *expander) expandMapping(c, n *yaml.Node, depth int) {
	var merged []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		own[key.Value] = true
		c.Content = append(c.Content, e.expandNode(key, depth+1), e.expandNode(value, depth+1))
	}
	for _, m := range merged {
		source := e.expandNode(m, depth+1)
		for _, from := range listItems(source) {
			if from.Kind != yaml.MappingNode && e.problem == nil {
				e.problem = &Problem{Line: m.Line, Text: "<<: can only merge mappings, not " + describeNode(from)}
			}
			for i := 0; from.Kind == yaml.MappingNode && i+1 < len(from.Content); i += 2 {
				if key := from.Content[i]; !own[key.Value] {
					own[key.Value] = true
					c.Content = append(c.Content, key, from.Content[i+1])
				}
			}
		}
	}
}

func listItems(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describeNode describes the type of a value for a message.
func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default: // a scalar: described by its tag
	}
	switch n.Tag {
	case "!!null":
		return "empty"
	case "!!bool":
		return "the boolean " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!str":
		return "text"
	default:
		return "a value with the tag " + n.Tag
	}
}

func putKey(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, scalarNode(key), value)
}

func nullNode() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"} }

// formatNumber keeps the spelling of a number of a raw part. A whole number that is too large for
// an integer has no tag, because YAML rejects a non-integer tag for it.
func formatNumber(n json.Number) *yaml.Node {
	tag := ""
	if _, err := n.Int64(); err == nil {
		tag = "!!int"
	} else if strings.ContainsAny(n.String(), ".eE") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: n.String()}
}

func scalarNode(v any) *yaml.Node {
	if number, ok := v.(json.Number); ok { // of a raw part; Encode would quote it
		return &yaml.Node{Kind: yaml.ScalarNode, Value: number.String()}
	}
	if n := simpleNode(v); n != nil {
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil { // scalars only
		panic(err)
	}
	return n
}

// simpleNode encodes scalars that need no quotes like yaml.Node.Encode, but without its round trip
// through a parser: encoding a configuration was a sixth of the master's CPU time for a short task.
// It returns nil for other values.
func simpleNode(v any) *yaml.Node {
	switch v := v.(type) {
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case string:
		if isPlain(v) {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		}
	}
	return nil
}

// isPlain reports whether every YAML parser reads an unquoted string as a string: it starts with a
// letter or a slash, contains only letters, digits and / _ - . and is not a keyword of YAML 1.1.
func isPlain(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '/':
		case i > 0 && ('0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
