package document

import (
	"slices"
	"strings"
	"unicode"
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
