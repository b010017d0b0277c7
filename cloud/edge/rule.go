package edge

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// Rule classifies an error code of a platform. If one code has several meanings, Contains selects
// one by a part of the error message; such rules come first. Messages are not inspected anywhere
// else. A rule without a Code is for a message that several codes share.
type Rule struct {
	Code, Contains string
	Kind           cloud.Kind
	// Fix is the advice for the user. {permissions} is replaced by the permissions that the call
	// requires.
	Fix string
}

// Family classifies all error codes with a common prefix and suffix.
type Family struct {
	Prefix, Suffix string
	Kind           cloud.Kind
	Fix            string
}

// Rules classifies the error codes of a platform: exact codes first, then families that follow the
// platform's naming conventions.
type Rules struct {
	Exact    []Rule
	Families []Family
}

// Find returns the first rule that matches an error code and its message.
func (r Rules) Find(code, message string) (Rule, bool) {
	for _, e := range r.Exact {
		if (e.Code == code || e.Code == "") && strings.Contains(message, e.Contains) {
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
