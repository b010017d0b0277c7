package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Blame returns all errors of a document: the values that could not be decoded, and the rules that
// the others violate. It omits rules that may be violated only because a value could not be
// decoded.
func (d *Document) Blame(unread, rules Errors) Errors {
	all := append(Errors{}, unread...)
	for _, rule := range rules {
		if !isExcused(rule, unread) {
			all = append(all, rule)
		}
	}
	return d.Locate(all)
}

func isExcused(rule Problem, unread Errors) bool {
	for _, u := range unread {
		if isRelated(rule.Path, u.Path) || u.Unread != "" && isRelated(rule.Path, u.Unread) || mentionsSetting(rule.Text, u) {
			return true
		}
	}
	return false
}

// isRelated reports whether two paths are equal or one contains the other. It returns false for the
// whole document, which would otherwise suppress all rules.
func isRelated(a, b string) bool {
	return a != "" && b != "" && (a == b || isWithin(a, b) || isWithin(b, a))
}

func isWithin(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// mentionsSetting reports whether the text of a rule names the setting that could not be decoded,
// like "must be at most max_instances".
func mentionsSetting(text string, u Problem) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, path := range []string{u.Path, u.Unread} {
		if slices.Contains(words, lastKey(path)) {
			return true
		}
	}
	return false
}

// lastKey returns the last key of a path, without a list index.
func lastKey(path string) string {
	path, _, _ = strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return path
}

// Locate sets the file and line of problems that only have a path, from the setting or the nearest
// enclosing one in the document.
func (d *Document) Locate(problems Errors) Errors {
	for i := range problems {
		p := &problems[i]
		if p.File != "" {
			continue
		}
		p.File = d.name
		for path := p.Path; ; path = parentPath(path) {
			if source, ok := d.paths[path]; ok && source != d.name {
				p.File, p.Line = source, 0
				break
			}
			if line, ok := d.lines[path]; ok {
				p.Line = line
				break
			}
			if path == "" {
				break
			}
		}
	}
	problems.Sort()
	return problems
}

// Source returns the source of the value at path: the document's name and line, the flag or
// variable that set it, or "" if it was not set.
func (d *Document) Source(path string) string {
	for ; path != ""; path = parentPath(path) {
		source, ok := d.paths[path]
		switch {
		case !ok:
			continue
		case source == d.name && d.lines[path] > 0:
			return fmt.Sprintf("%s:%d", source, d.lines[path])
		default:
			return source
		}
	}
	return ""
}

// Nearest returns the path and line of a decoded setting, or of the nearest enclosing one in the
// document, or "" without one.
func (d *Document) Nearest(path string) (nearest string, line int) {
	for ; path != ""; path = parentPath(path) {
		if line, found := d.lines[path]; found {
			return path, line
		}
	}
	return "", 0
}

func parentPath(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// ForgetLines removes all line numbers from problems and sources, for a document whose text the
// user has not seen.
func (d *Document) ForgetLines() {
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		n.Line = 0
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(d.root)
}

// Given reports whether the document, a flag or a variable sets a path.
func (d *Document) Given(path string) bool {
	_, ok := d.lines[path]
	return ok
}
