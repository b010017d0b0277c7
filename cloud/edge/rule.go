package edge

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// Rule is what one of a platform's codes means. Where one code says several
// things, Contains tells them apart by the message: this is the only place where
// a message is looked at, and such rules come first.
type Rule struct {
	Code, Contains string
	Kind           cloud.Kind
	// Fix is what a person can do; {permissions} stands for what the call needs.
	Fix string
}

// Family is a rule for all codes with one beginning and one end.
type Family struct {
	Prefix, Suffix string
	Kind           cloud.Kind
	Fix            string
}

// Rules is what a platform's codes mean: first the exact ones, then the families
// that its own naming makes.
type Rules struct {
	Exact    []Rule
	Families []Family
}

// Find finds what a code means.
func (r Rules) Find(code, message string) (Rule, bool) {
	for _, e := range r.Exact {
		if e.Code == code && strings.Contains(message, e.Contains) {
			return e, true
		}
	}
	for _, f := range r.Families {
		if strings.HasPrefix(code, f.Prefix) && strings.HasSuffix(code, f.Suffix) {
			return Rule{Code: code, Kind: f.Kind, Fix: f.Fix}, true
		}
	}
	return Rule{}, false
}
