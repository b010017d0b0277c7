package document

import (
	"go.yaml.in/yaml/v3"
)

// Map is a mapping of a document that can be changed before it is decoded, to convert old formats
// while each value keeps its line.
type Map struct{ node *yaml.Node }

// Node is a value of a document.
type Node struct{ node *yaml.Node }

// Root returns the document's top-level mapping.
func (d *Document) Root() Map { return Map{d.root} }

// NewMap returns an empty mapping with the line of n.
func NewMap(n Node) Map {
	return Map{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.node.Line}}
}

// NewText returns a text value with the line of n.
func NewText(n Node, s string) Node {
	return Node{&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: n.node.Line}}
}

// NewList returns a list of items with the line of the first.
func NewList(items ...Node) Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, item := range items {
		n.Content = append(n.Content, item.node)
		n.Line = n.Content[0].Line
	}
	return Node{n}
}

// Keys returns the text keys in order.
func (m Map) Keys() []string {
	var out []string
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		out = append(out, m.node.Content[i].Value)
	}
	return out
}

// Has reports whether the key exists.
func (m Map) Has(key string) bool { return m.indexOf(key) >= 0 }

// Get returns the value of a key.
func (m Map) Get(key string) (Node, bool) {
	if i := m.indexOf(key); i >= 0 {
		return Node{m.node.Content[i+1]}, true
	}
	return Node{}, false
}

// Take removes a key and returns its value.
func (m Map) Take(key string) (Node, bool) {
	i := m.indexOf(key)
	if i < 0 {
		return Node{}, false
	}
	n := Node{m.node.Content[i+1]}
	m.node.Content = append(m.node.Content[:i:i], m.node.Content[i+2:]...)
	return n, true
}

// Put appends a key, with the line of its value.
func (m Map) Put(key string, value Node) {
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: value.node.Line}
	m.node.Content = append(m.node.Content, k, value.node)
}

// Rename renames a key in place. It reports whether the key existed.
func (m Map) Rename(from, to string) bool {
	i := m.indexOf(from)
	if i >= 0 {
		m.node.Content[i].Value = to
	}
	return i >= 0
}

// Line returns the line of a key, or 0 if it does not exist.
func (m Map) Line(key string) int {
	if i := m.indexOf(key); i >= 0 {
		return m.node.Content[i].Line
	}
	return 0
}

// Node returns the mapping as a value.
func (m Map) Node() Node { return Node(m) }

func (m Map) indexOf(key string) int {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if k := m.node.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// Map returns the value as a mapping; ok is false if it is something else.
func (n Node) Map() (Map, bool) {
	return Map(n), n.node.Kind == yaml.MappingNode
}

// List returns the entries of a list, or nil if the value is something else.
func (n Node) List() []Node {
	var out []Node
	for _, c := range n.node.Content {
		if n.node.Kind == yaml.SequenceNode {
			out = append(out, Node{c})
		}
	}
	return out
}

// Text returns the value of a scalar, or "" if it is something else.
func (n Node) Text() string {
	if n.node.Kind != yaml.ScalarNode {
		return ""
	}
	return n.node.Value
}

// Line returns the line of the value.
func (n Node) Line() int { return n.node.Line }

// IsNull reports whether the value is null.
func (n Node) IsNull() bool { return isNull(n.node) }
