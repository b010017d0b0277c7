package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// Problem is one error in a document.
type Problem struct {
	// File is the document's name, or the flag or variable that set the value.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means unknown.
	Line int `json:"line,omitempty"`
	// Path is the path of the setting: "resource_pools[0].max_instances".
	Path string `json:"path,omitempty"`
	// Text is the violated rule and the actual value.
	Text string `json:"text"`
	// Hint is a suggested fix, or "".
	Hint string `json:"hint,omitempty"`
	// Unknown marks an unknown key.
	Unknown bool `json:"-"`
	// Unread is the path of other settings that were not decoded: the probable setting of an
	// unknown key, or the whole value if its type is invalid.
	Unread string `json:"-"`
	// Orphan is the first key of a list whose own key is missing.
	Orphan string `json:"-"`
}

// String returns a message like "master.yaml:4: resource_pools[0].pool_name: is required".
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

// Errors contains all problems of a document, in the order of lines.
type Errors []Problem

// Error returns one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// FromFlags reports whether the value of a flag is invalid, so that the command line has to be
// corrected.
func (e Errors) FromFlags() bool {
	return slices.ContainsFunc(e, func(p Problem) bool { return strings.HasPrefix(p.File, "--") })
}

// Err returns e as an error, or nil if there are no problems.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Add appends a problem at path; Locate sets its file and line.
func (e *Errors) Add(path, format string, args ...any) {
	*e = append(*e, Problem{Path: path, Text: excerpt.Format(format, args...)})
}

// Check appends a problem at path unless ok.
func (e *Errors) Check(ok bool, path, format string, args ...any) {
	if !ok {
		e.Add(path, format, args...)
	}
}

// OneOf returns a problem if the value is not in the list.
func OneOf(path, value string, allowed []string) Errors {
	var e Errors
	e.Check(slices.Contains(allowed, value), path, "must be one of %s (is %q)", strings.Join(allowed, ", "), value)
	return e
}

// Sort sorts by file and line, keeping the order of problems of one line.
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

// Index appends a list index to a path.
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
