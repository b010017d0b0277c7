// Package words holds the language of det-deploy's texts: help, errors, log lines,
// comments and docs use the words of kubectl, aws and docker.
package words

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// rule is a phrase that is not used, and what is said instead.
type rule struct {
	// phrase is a regular expression of whole words; capitals do not matter.
	phrase  string
	instead string
}

// rules are the phrases that are not used anywhere.
var rules = []rule{
	{"anew", "again; re-create, rewrite, restart"},
	{"(?:it|that|this|what|which|who|one|name|text|id|token|certificate|answer|they) (?:is|are|was|were) none", "is not a …; does not exist"},
	{"goes on|going on", "continues"},
	{"goes by", "uses; follows"},
	{"(?:is|are) no more", "no longer exists; was removed"},
	{"nobody|nobody's", "name the actor: no user, no agent, no process"},
	{"somebody|somebody's", "name the actor: a user, an operator, another process"},
	{"whoever", "name the actor: the caller, users who …, the client"},
	{"let in|lets in|lets others in", "admitted; admits"},
	{"sent home|sends? \\w+ home", "asked to shut down"},
	{"that is meant", "name it: cluster ID"},
	{"form of the answer", "output format"},
	{"without questions", "Equivalent command; skip the confirmation"},
	{"taken back by (?:its|the) cloud", "interrupted"},
	{"cannot be brought back", "irreversible"},
}

var pattern = compile(rules)

// compile joins the rules in one expression whose groups are numbered as they are.
func compile(rules []rule) *regexp.Regexp {
	all := make([]string, 0, len(rules))
	for _, r := range rules {
		all = append(all, "("+r.phrase+")")
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}

// findPhrases lists the phrases of a text that are not used, with their lines, of which
// the first is number first.
func findPhrases(name, text string, first int) []string {
	var out []string
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, fmt.Sprintf("%s:%d: %q; say: %s",
			name, first+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], rules[groupOf(at)].instead))
	}
	return out
}

// groupOf is the number of the rule that has matched.
func groupOf(at []int) int {
	for i := 2; i < len(at); i += 2 {
		if at[i] >= 0 {
			return i/2 - 1
		}
	}
	return 0
}

// findInGo lists what a Go file says wrongly, in its comments and in its strings.
func findInGo(name string, source []byte) []string {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var out []string
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.COMMENT, token.STRING:
			out = append(out, findPhrases(name, text, file.Line(pos))...)
		default:
		}
	}
}
