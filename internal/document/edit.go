package document

import (
	"go.yaml.in/yaml/v3"
)

// Map is a mapping of a document that may be rearranged before it is decoded:
// how old forms become new ones while every value keeps its line.
type Map struct{ node *yaml.Node }

// Node is a value that is being moved.
type Node struct{ node *yaml.Node }

// Root is the document's outermost mapping.
func (d *Document) Root() Map { return Map{d.root} }

// NewMap is an empty mapping that stands where n stood.
func NewMap(n Node) Map {
	return Map{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.node.Line}}
}

// NewText is a text that stands where n stood.
func NewText(n Node, s string) Node {
	return Node{&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: n.node.Line}}
}

// NewList is a list of items that stands where the first of them stood.
func NewList(items ...Node) Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, item := range items {
		n.Content = append(n.Content, item.node)
		n.Line = n.Content[0].Line
	}
	return Node{n}
}

// Keys are the text keys in their order.
func (m Map) Keys() []string {
	var out []string
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		out = append(out, m.node.Content[i].Value)
	}
	return out
}

// Has reports whether the key is there.
func (m Map) Has(key string) bool { return m.indexOf(key) >= 0 }

// Get is the value of a key.
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

// Put adds a key; the line of its value becomes the key's.
func (m Map) Put(key string, value Node) {
	k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: value.node.Line}
	m.node.Content = append(m.node.Content, k, value.node)
}

// Rename changes a key and keeps its place. It reports whether the key was there.
func (m Map) Rename(from, to string) bool {
	i := m.indexOf(from)
	if i >= 0 {
		m.node.Content[i].Value = to
	}
	return i >= 0
}

// Line is the line of a key, 0 when it is not there.
func (m Map) Line(key string) int {
	if i := m.indexOf(key); i >= 0 {
		return m.node.Content[i].Line
	}
	return 0
}

// Node is the mapping as a value.
func (m Map) Node() Node { return Node(m) }

func (m Map) indexOf(key string) int {
	for i := 0; i+1 < len(m.node.Content); i += 2 {
		if k := m.node.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// Map is the value as a mapping; ok is false when it is something else.
func (n Node) Map() (Map, bool) {
	return Map(n), n.node.Kind == yaml.MappingNode
}

// List is the entries of a list, none when the value is something else.
func (n Node) List() []Node {
	var out []Node
	for _, c := range n.node.Content {
		if n.node.Kind == yaml.SequenceNode {
			out = append(out, Node{c})
		}
	}
	return out
}

// Text is the value of a single word or number, "" when it is something else.
func (n Node) Text() string {
	if n.node.Kind != yaml.ScalarNode {
		return ""
	}
	return n.node.Value
}

// Line is where the value stands.
func (n Node) Line() int { return n.node.Line }

// IsNull reports whether nothing stands there.
func (n Node) IsNull() bool { return isNull(n.node) }
