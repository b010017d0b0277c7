package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Problem is one complaint about one place of a document.
type Problem struct {
	// File is the document's name, or the flag or variable a value came from.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means that the place has no line.
	Line int `json:"line,omitempty"`
	// Path names the setting: "resource_pools[0].max_instances".
	Path string `json:"path,omitempty"`
	// Text is the rule that is broken, with what was found.
	Text string `json:"text"`
	// Hint is what to write instead; it may be empty.
	Hint string `json:"hint,omitempty"`
	// Unknown says that nothing reads the key.
	Unknown bool `json:"-"`
	// Unread is the path of what else was not read: what an unknown key was probably to
	// be, or all of what has no valid type.
	Unread string `json:"-"`
	// Orphan is the first key of a list whose own key is missing.
	Orphan string `json:"-"`
}

// String reads as "master.yaml:4: resource_pools[0].pool_name: is required".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Errors is every complaint about a document, in the order of its lines.
type Errors []Problem

// Error prints one complaint a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// FromFlags reports whether a flag gave a value that is complained about, so that
// the command line and not a document is to be changed.
func (e Errors) FromFlags() bool {
	return slices.ContainsFunc(e, func(p Problem) bool { return strings.HasPrefix(p.File, "--") })
}

// Err is nil when there is nothing to complain about.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Add appends a complaint about path; Locate fills in its file and line.
func (e *Errors) Add(path, format string, args ...any) {
	*e = append(*e, Problem{Path: path, Text: excerpt.Format(format, args...)})
}

// Check appends a complaint about path unless ok.
func (e *Errors) Check(ok bool, path, format string, args ...any) {
	if !ok {
		e.Add(path, format, args...)
	}
}

// OneOf complains about a value that is not in a list.
func OneOf(path, value string, allowed []string) Errors {
	var e Errors
	e.Check(slices.Contains(allowed, value), path, "must be one of %s (is %q)", strings.Join(allowed, ", "), value)
	return e
}

// Sort orders by line, keeping the order of complaints about one line.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b Problem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index appends a position in a list to a path.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
