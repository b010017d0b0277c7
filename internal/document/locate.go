package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Blame is all that is wrong with a document: what its values could not be read for,
// and which rules the others break. A rule that may be broken only because a value was
// not read is left out until that value is mended.
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

// isRelated says that two paths are of one setting, or that one holds the other. The
// document as a whole is related to nothing: it would excuse everything.
func isRelated(a, b string) bool {
	return a != "" && b != "" && (a == b || isWithin(a, b) || isWithin(b, a))
}

func isWithin(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// mentionsSetting says that the text of a rule names the setting that could not be read, as
// "must be at most max_instances" does.
func mentionsSetting(text string, u Problem) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, path := range []string{u.Path, u.Unread} {
		if slices.Contains(words, lastKey(path)) {
			return true
		}
	}
	return false
}

// lastKey is the name of the setting at the end of a path, without its place in a list.
func lastKey(path string) string {
	path, _, _ = strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return path
}

// Locate fills in file and line of complaints that have only a path: those of the
// setting itself, or of the nearest enclosing one that the document contains.
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

// Source says where the value at path came from: the document's name with its
// line, the flag or variable that set it, or "" when nothing did.
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

// Nearest returns the path of a setting that was decoded, or of the nearest enclosing one
// that the document contains, and its line. It is "" where there is none.
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

// ForgetLines makes complaints and sources name the document alone, for one whose
// text the user has not seen.
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

// Given reports whether the document, a flag or a variable mentions a path.
func (d *Document) Given(path string) bool {
	_, ok := d.lines[path]
	return ok
}
