package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// foldSteps counts steps by verb and kind, and formats those that have details or are about data.
func foldSteps(steps []Step) string {
	var plain, detailed []Step
	for _, s := range steps {
		if len(s.details()) > 0 || s.Verb == Refuse || s.Found.Retain != "" {
			detailed = append(detailed, s)
		} else {
			plain = append(plain, s)
		}
	}
	var b strings.Builder
	for _, v := range []Verb{Create, Update, Replace, Delete, Keep} {
		if kinds := countKinds(plain, v); len(kinds) > 0 {
			head := fmt.Sprintf("  %s %-7s  ", v.sign(), v)
			b.WriteString(head + wrapWords(kinds, utf8.RuneCountInString(head)) + "\n")
		}
	}
	b.WriteString(formatSteps(detailed))
	return b.String() + "  (shortened to fit the screen; --dry-run shows every step)\n"
}

// countKinds returns the kinds of the steps with a verb in order of their first appearance, such as
// "subnet × 3".
func countKinds(steps []Step, v Verb) []string {
	var kinds []string
	count := make(map[string]int)
	for _, s := range steps {
		if s.Verb != v {
			continue
		}
		kind := s.kind()
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		count[kind]++
	}
	for i, kind := range kinds {
		if n := count[kind]; n > 1 {
			kinds[i] = fmt.Sprintf("%s × %d", kind, n)
		}
	}
	return kinds
}

func (s Step) kind() string {
	if s.Resource != nil {
		return s.Resource.Kind()
	}
	return s.Found.Kind
}

// screenWidth is the width of a narrow terminal.
const screenWidth = 80

// wrapWords joins words with commas, in lines that are indented like the first one.
func wrapWords(words []string, indent int) string {
	var b strings.Builder
	at := indent
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
		case at+1+n >= screenWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += utf8.RuneCountInString(word)
	}
	return b.String()
}
