// Package document parses YAML configuration files. It is strict: it reports all mistakes at once,
// each with its line and a suggestion. It also writes documents, with secrets masked or rejected.
// It imports no package with knowledge of the settings.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of one document. A typical master.yaml has a few hundred lines; the limits protect the
// machine from a generated or malicious file.
const (
	MaxBytes = 4 << 20
	maxNodes = 200_000
	maxDepth = 64
)

// Document is a parsed file with the positions of its values.
type Document struct {
	name string
	root *yaml.Node
	// lines maps each decoded path to its line.
	lines map[string]int
	// sources maps a node to the flag or variable that set it.
	sources map[*yaml.Node]string
	// paths maps each decoded leaf to its source.
	paths map[string]string
}

// Parse parses the single YAML (or JSON) document in data; name is used in messages. An empty
// document is an empty mapping. The error is of type Errors.
func Parse(data []byte, name string) (*Document, error) {
	d := New(name)
	if len(data) > MaxBytes {
		return nil, d.refuseLine(0, fmt.Sprintf("is larger than %d bytes", MaxBytes))
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return nil, d.syntaxError(err, data)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, d.refuseLine(second.Line, "has a second document; use one document per file")
	case !errors.Is(err, io.EOF):
		return nil, d.syntaxError(err, data)
	}
	if len(first.Content) != 1 {
		return d, nil
	}
	e := expander{left: maxNodes}
	root := e.expandNode(first.Content[0], 0)
	if e.problem != nil {
		return nil, d.refuseLine(e.problem.Line, e.problem.Text)
	}
	switch {
	case root.Kind == yaml.MappingNode:
		d.root = root
	case isNull(root):
	default:
		return nil, d.refuseLine(root.Line, "must be a mapping of keys to values, is "+describeNode(root))
	}
	return d, nil
}

// New returns an empty document, for a configuration that consists of flags only.
func New(name string) *Document {
	return &Document{
		name: name, lines: map[string]int{}, sources: map[*yaml.Node]string{}, paths: map[string]string{},
		root: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1},
	}
}

// Decode parses data and decodes it into the struct that into points to, over its defaults.
func Decode(data []byte, name string, into any) error {
	d, err := Parse(data, name)
	if err != nil {
		return err
	}
	return d.Decode(into).Err()
}

// First parses the first file of named that exists; it returns an error if none exists. If named is
// empty, it searches paths, and returns an empty document called name if none exists.
func First(name string, named, paths []string) (*Document, error) {
	files := named
	if len(named) == 0 {
		files = paths
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err == nil {
			return Parse(data, file)
		}
		last := len(named) > 0 && i == len(named)-1
		if !errors.Is(err, fs.ErrNotExist) || last {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return New(name), nil
}

// CountValues returns the number of values in the document, including mappings and lists, with
// aliases expanded.
func (d *Document) CountValues() int { return countNodes(d.root) }

func countNodes(n *yaml.Node) int {
	count := 1
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 { // keys do not count
			count += countNodes(child)
		}
	}
	return count
}

// Name returns the name of the document.
func (d *Document) Name() string { return d.name }

func (d *Document) refuseLine(line int, text string) error {
	return Errors{{File: d.name, Line: line, Text: text}}
}

// yamlLine extracts the line number from the parser's message, which is its only representation.
var yamlLine = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

func (d *Document) syntaxError(err error, data []byte) error {
	p := Problem{File: d.name, Text: err.Error()}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Line, _ = strconv.Atoi(m[1]) // 0 without a line number
		p.Text = "is not valid YAML: " + m[2]
	}
	if isIndentedByTab(data, p.Line) {
		p.Text, p.Hint = "is not valid YAML: the line is indented by a tab", "use blanks"
	}
	if line, key := findOrphanList(data); line > 0 {
		p.Line, p.Orphan = line, key
		p.Text, p.Hint = "is not valid YAML: a list without a key", "add the key of the list above it"
	}
	return Errors{p}
}

// isIndentedByTab reports whether a line has a tab before its first other character.
func isIndentedByTab(data []byte, line int) bool {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	indent := len(text) - len(bytes.TrimLeft(text, " \t"))
	return bytes.ContainsRune(text[:indent], '\t')
}

var (
	scalarLine = regexp.MustCompile(`^( *)[A-Za-z_][A-Za-z0-9_]*: +[^ |>#]`)
	itemLine   = regexp.MustCompile(`^( *)- ([A-Za-z_][A-Za-z0-9_]*):`)
)

// findOrphanList finds a list below a key that already has a value, because the list's own key is
// missing. It returns the line, or 0, and the first key of the list's first item.
func findOrphanList(data []byte) (line int, key string) {
	var above string
	n := 0
	for text := range strings.Lines(string(data)) {
		n++
		item, scalar := itemLine.FindStringSubmatch(text), scalarLine.FindStringSubmatch(above)
		if item != nil && scalar != nil && len(item[1]) >= len(scalar[1]) {
			return n, item[2]
		}
		if strings.TrimSpace(text) != "" {
			above = text
		}
	}
	return 0, ""
}
