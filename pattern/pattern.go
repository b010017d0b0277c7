// Package pattern holds regular expressions that are compiled when they are first asked.
// Compiled where they are declared, those of all packages would be compiled by every
// command before its first line, and be kept by every process that never asks them.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is one regular expression. It is declared once for a package and asked by
// any number of goroutines.
type Pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New declares a pattern. It does not look at the text: a test compiles the text of
// each pattern of the program.
func New(text string) *Pattern { return &Pattern{text: text} }

// String is the text of the pattern.
func (p *Pattern) String() string { return p.text }

// MatchString reports whether s contains a match.
func (p *Pattern) MatchString(s string) bool { return p.compile().MatchString(s) }

// FindString is the text of the first match in s, or empty.
func (p *Pattern) FindString(s string) string { return p.compile().FindString(s) }

// FindStringSubmatch is the first match in s and its groups, or nil.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compile().FindStringSubmatch(s) }

// ReplaceAllString is src with each match replaced by repl, in which $1 is a group.
func (p *Pattern) ReplaceAllString(src, repl string) string {
	return p.compile().ReplaceAllString(src, repl)
}

// compile is what the text means. A text that means nothing panics, as it would if it
// were compiled where it is declared.
func (p *Pattern) compile() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}
