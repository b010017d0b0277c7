package document

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// expander copies a tree with its aliases and merge keys ("<<") written out, so
// that nothing later has to know them. It stops when the copy grows too large,
// which is how a few hundred bytes of nested aliases are kept from becoming
// gigabytes.
type expander struct {
	left    int
	problem *Problem
}

func (e *expander) expandNode(n *yaml.Node, depth int) *yaml.Node {
	e.left--
	switch {
	case e.problem != nil:
	case e.left < 0:
		e.problem = &Problem{Line: n.Line, Text: fmt.Sprintf("has more than %d values once its aliases are written out", maxNodes)}
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

// expandMapping copies n's keys, then those of its merge keys that n does not have.
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

// describeNode names what stands in the document, in words.
func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default: // a scalar: its tag says more
	}
	switch n.Tag {
	case "!!null":
		return "empty"
	case "!!bool":
		return "the truth value " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!str":
		return "text"
	default:
		return "a value with the tag " + n.Tag
	}
}
