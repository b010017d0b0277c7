package document

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Override is a setting that can also be given by flag or environment variable.
type Override struct {
	// Path is the path of the setting, such as "db.user".
	Path string
	// Env is the variable and Flag the flag without dashes; either may be empty.
	Env   string
	Flag  string
	Usage string
	// Reference marks a secret that a command line may only reference, because other users of the
	// machine can read process arguments.
	Reference bool
	// Bool marks a flag that needs no value.
	Bool bool
	// Values are all values of a setting that has few.
	Values []string
	// Default is the default that the help shows, an int or bool; the flag's value has the same
	// type. It is nil if the help shows no default.
	Default any
}

// Given is a setting given by flag or environment variable.
type Given struct {
	Path  string
	Value string
	// Source is the flag or variable as used in messages: "--port" or "DET_PORT".
	Source string
}

// EnvName returns the variable of a path: DET_DB_USER for "db.user".
func EnvName(path string) string {
	return "DET_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// FlagName returns the flag of a path: db-user for "db.user".
func FlagName(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, ".", "-"), "_", "-")
}

// Apply sets all given values, overriding the document.
func (d *Document) Apply(given []Given) Errors {
	var e Errors
	for _, g := range given {
		if p := d.Set(g.Path, g.Value, g.Source); p != nil {
			e = append(e, *p)
		}
	}
	return e
}

// Set sets the value at a path of keys ("db.user"), overriding the document; source is the flag or
// variable. The value is text and is decoded according to the type of the setting; list items are
// separated by commas.
func (d *Document) Set(path, value, source string) *Problem {
	return d.put(path, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}, source)
}

// SetYAML is like Set, but parses the value as YAML: a number, a list or a mapping. A mapping is
// merged with an existing one.
func (d *Document) SetYAML(path, value, source string) *Problem {
	parsed, err := Parse([]byte("value: "+value), source)
	if err != nil {
		return &Problem{File: source, Path: path, Text: "its value is not valid YAML"}
	}
	n, ok := parsed.Root().Get("value")
	if !ok || len(parsed.Root().Keys()) > 1 {
		return &Problem{File: source, Path: path, Text: "has more than one value"}
	}
	return d.put(path, n.node, source)
}

func (d *Document) put(path string, n *yaml.Node, source string) *Problem {
	m := d.Root()
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		child, ok := m.Get(key)
		if !ok || isNull(child.node) {
			m.Take(key)
			child = Node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}}
			m.Put(key, child)
		}
		if m, ok = child.Map(); !ok {
			return &Problem{File: source, Path: path, Text: fmt.Sprintf("cannot be set: %s is %s in %s", key, describeNode(child.node), d.name)}
		}
	}
	d.markSource(n, source)
	m.merge(keys[len(keys)-1], n)
	return nil
}

// merge sets the value of a key; a mapping is merged with an existing one.
func (m Map) merge(key string, n *yaml.Node) {
	if there, ok := m.Get(key); ok && n.Kind == yaml.MappingNode && there.node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			Map(there).merge(n.Content[i].Value, n.Content[i+1])
		}
		return
	}
	for m.Has(key) {
		m.Take(key)
	}
	m.Put(key, Node{n})
}

func (d *Document) markSource(n *yaml.Node, source string) {
	d.sources[n] = source
	for _, child := range n.Content {
		d.markSource(child, source)
	}
}

// splitOverride splits a comma-separated value into a list.
func (d *Document) splitOverride(n *yaml.Node) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for part := range strings.SplitSeq(n.Value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			c := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part}
			d.sources[c] = d.sources[n]
			list.Content = append(list.Content, c)
		}
	}
	return list
}

// Overlay merges the mapping over into the mapping base, both YAML or JSON: mappings are merged key
// by key, and other values are replaced.
func Overlay(base, over []byte) ([]byte, error) {
	var below, above map[string]any
	if err := yaml.Unmarshal(base, &below); err != nil {
		return nil, fmt.Errorf("parse the base document: %w", err)
	}
	if err := yaml.Unmarshal(over, &above); err != nil {
		return nil, fmt.Errorf("parse the overlay: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(mergeMaps(below, above)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

func mergeMaps(below, above map[string]any) map[string]any {
	if below == nil {
		below = map[string]any{}
	}
	for k, v := range above {
		m, isMap := v.(map[string]any)
		under, wasMap := below[k].(map[string]any)
		if isMap && wasMap {
			below[k] = mergeMaps(under, m)
			continue
		}
		below[k] = wholeNumbers(v)
	}
	return below
}

// wholeNumbers converts whole floats to integers, which YAML would otherwise print like 1e+06.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	}
	return v
}
