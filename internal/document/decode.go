package document

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// Defaulter is implemented by structs with default values. SetDefaults is called on each new value
// before it is decoded.
type Defaulter interface{ SetDefaults() }

// Unmarshaler is implemented by types with several written forms. Errors are reported to v.
type Unmarshaler interface{ UnmarshalDocument(v Value) }

// Decode decodes the document into the struct that into points to. Settings that the document omits
// keep their values; the caller sets defaults first. Decode returns all errors, or nil.
func (d *Document) Decode(into any) Errors {
	dec := &decoder{doc: d}
	dec.decodeValue(d.root, "", reflect.ValueOf(into).Elem())
	dec.problems.Sort()
	return dec.problems
}

type decoder struct {
	doc      *Document
	problems Errors
}

func (d *decoder) addProblem(n *yaml.Node, path, text, hint string) {
	p := Problem{File: d.doc.name, Line: n.Line, Path: path, Text: text, Hint: hint}
	if source := d.doc.sources[n]; source != "" {
		p.File, p.Line = source, 0
	}
	d.problems = append(d.problems, p)
}

func (d *decoder) decodeValue(n *yaml.Node, path string, v reflect.Value) {
	d.notePath(n, path)
	if v.Kind() == reflect.Pointer {
		d.decodePointer(n, path, v)
		return
	}
	if isNull(n) { // the same as an omitted key
		return
	}
	switch x := v.Addr().Interface().(type) {
	case Unmarshaler:
		x.UnmarshalDocument(Value{node: n, path: path, dec: d})
		return
	case Union:
		d.decodeUnion(n, path, x)
		return
	case encoding.TextUnmarshaler:
		d.decodeText(n, path, x)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.expectKind(n, path, yaml.MappingNode, "a mapping of keys to values") {
			d.decodeFields(n, path, v)
		}
	case reflect.Slice:
		d.decodeList(n, path, v)
	case reflect.Map:
		d.decodeMapping(n, path, v)
	default:
		d.decodeScalar(n, path, v)
	}
}

func (d *decoder) notePath(n *yaml.Node, path string) {
	d.doc.lines[path] = n.Line
	if source := d.doc.sources[n]; source != "" {
		d.doc.paths[path] = source
	} else if n.Kind == yaml.ScalarNode {
		d.doc.paths[path] = d.doc.name
	}
}

// noteLine records the line of a path in a part that belongs to another system.
func (d *decoder) noteLine(n *yaml.Node, path string) {
	if d.doc.sources[n] == "" {
		d.doc.lines[path] = n.Line
	}
}

func (d *decoder) expectKind(n *yaml.Node, path string, kind yaml.Kind, what string) bool {
	if n.Kind != kind {
		d.addProblem(n, path, "must be "+what+", is "+describeNode(n), "")
	}
	return n.Kind == kind
}

func (d *decoder) decodePointer(n *yaml.Node, path string, v reflect.Value) {
	if isNull(n) {
		v.SetZero()
		return
	}
	if v.IsNil() {
		v.Set(newValue(v.Type().Elem()))
	}
	d.decodeValue(n, path, v.Elem())
}

// newValue returns a pointer to a new value with its defaults.
func newValue(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if x, ok := p.Interface().(Defaulter); ok {
		x.SetDefaults()
	}
	return p
}

// decodeFields decodes a mapping into a struct and reports unknown keys.
func (d *decoder) decodeFields(n *yaml.Node, path string, v reflect.Value) {
	known := fieldsOf(v)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !d.decodeKey(key, path, seen) {
			continue
		}
		f, ok := known.findField(key.Value)
		if !ok {
			d.complainUnknown(key, path, v, known.fieldNames())
			continue
		}
		at := Join(path, key.Value)
		d.decodeValue(value, at, f)
		if d.doc.sources[value] == "" {
			d.doc.lines[at] = key.Line
		}
	}
}

// decodeKey reports keys that are not text or are repeated.
func (d *decoder) decodeKey(key *yaml.Node, path string, seen map[string]int) bool {
	if key.Kind != yaml.ScalarNode || key.Tag == "!!null" {
		d.addProblem(key, path, "has a key that is "+describeNode(key)+"; keys must be text", "")
		return false
	}
	if line, twice := seen[key.Value]; twice {
		d.addProblem(key, Join(path, key.Value), fmt.Sprintf("is given twice, first in line %d", line), "")
		return false
	}
	seen[key.Value] = key.Line
	return true
}

// KeyAdviser is implemented by structs that know the right place of some unknown keys.
type KeyAdviser interface {
	// AdviseKey returns a hint about an unknown key, or "".
	AdviseKey(key string) string
}

func (d *decoder) complainUnknown(key *yaml.Node, path string, v reflect.Value, known []string) {
	hint, meant := "", ""
	if a, ok := v.Addr().Interface().(KeyAdviser); ok {
		hint = a.AdviseKey(key.Value)
	}
	if hint != "" {
		d.addProblem(key, Join(path, key.Value), "unknown key", hint)
		d.problems[len(d.problems)-1].Unknown = true
		return
	}
	if k := naming.Nearest(key.Value, known); k != "" {
		hint, meant = "did you mean "+k+"?", Join(path, k)
	} else if len(known) > 0 && len(known) <= 12 {
		hint = "valid keys: " + strings.Join(known, ", ")
	}
	d.addProblem(key, Join(path, key.Value), "unknown key", hint)
	last := &d.problems[len(d.problems)-1]
	last.Unread, last.Unknown = meant, true
}

func (d *decoder) decodeList(n *yaml.Node, path string, v reflect.Value) {
	if d.doc.sources[n] != "" && n.Kind == yaml.ScalarNode {
		n = d.doc.splitOverride(n)
	}
	if !d.expectKind(n, path, yaml.SequenceNode, "a list") {
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, child := range n.Content {
		e := newValue(v.Type().Elem()).Elem()
		at := Index(path, i)
		if isNull(child) {
			d.addProblem(child, at, "is empty", "remove it or give it a value")
		} else {
			d.decodeValue(child, at, e)
		}
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

func (d *decoder) decodeMapping(n *yaml.Node, path string, v reflect.Value) {
	if !d.expectKind(n, path, yaml.MappingNode, "a mapping of keys to values") {
		return
	}
	out := reflect.MakeMap(v.Type())
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; d.decodeKey(key, path, seen) {
			e := newValue(v.Type().Elem()).Elem()
			d.decodeValue(n.Content[i+1], Join(path, key.Value), e)
			out.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
		}
	}
	v.Set(out)
}
