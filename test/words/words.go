// Package words holds the language of det-deploy's texts: help, errors, log lines,
// comments and docs use the words of kubectl, aws and docker.
package words

import (
	"regexp"
)

// Rule is a phrase that is not used, and what is said instead.
type Rule struct {
	Phrase  string
	Instead string
}

// Rules are the phrases that are not used. A phrase is a regular expression that
// matches whole words, small or capital.
var Rules = []Rule{
	{"anew", "again"},
	{"(is|are|was|were) none", "does not exist; is not a …"},
	{"goes? on", "continue"},
	{"goes? by", "use; follow"},
	{"taken? back by (its|the) cloud", "interrupted"},
	{"(is|are) no more", "no longer exists"},
	{"nobody", "name the actor: no user, no agent, no process"},
	{"somebody", "name the actor: a user, an operator, another process"},
	{"somebody's|nobody's", "name the owner"},
	{"whoever", "name the actor"},
	{"let in", "admitted"},
	{"lets? \\w+ in", "admit"},
	{"sen(t|ds?) home", "ask to shut down"},
	{"cluster that is meant", "cluster ID"},
	{"form of the answer", "output format"},
	{"without questions", "Equivalent command"},
	{"what is meant", "name it"},
	{"(is|are) over", "has ended"},
}

// Found is a phrase at a place.
type Found struct {
	Rule Rule
	Text string
}

var patterns = compile()

func compile() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, r := range Rules {
		out = append(out, regexp.MustCompile(`(?i)\b(?:`+r.Phrase+`)\b`))
	}
	return out
}
