package api

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// rule is what one of Amazon's codes means. Where one code says several things,
// contains tells them apart by the message: this is the only place where a
// message is looked at, and such rules come first.
type rule struct {
	code, contains string
	kind           cloud.Kind
	fix            string
}

// ruleOf finds what a code means: first the exact rules, then the families that
// Amazon's own naming makes.
func ruleOf(code, message string) (rule, bool) {
	for _, r := range rules() {
		if r.code == code && strings.Contains(message, r.contains) {
			return r, true
		}
	}
	for _, f := range families() {
		if strings.HasPrefix(code, f.prefix) && strings.HasSuffix(code, f.suffix) {
			return f.rule, true
		}
	}
	return rule{}, false
}

// family is a rule for all codes with one beginning and one end.
type family struct {
	prefix, suffix string
	rule
}

func families() []family {
	of := func(prefix, suffix string, kind cloud.Kind) family {
		return family{prefix, suffix, rule{kind: kind}}
	}
	return []family{
		of("", ".NotFound", cloud.NotFound),
		of("NoSuch", "", cloud.NotFound),
		of("", ".Duplicate", cloud.Conflict),
		of("", ".InUse", cloud.Conflict),
		of("", "InUse", cloud.Conflict),
		of("", "AlreadyExists", cloud.Conflict),
		of("", "AlreadyExistsException", cloud.Conflict),
		of("", ".AlreadyAssociated", cloud.Conflict),
		of("Throttl", "", cloud.RateLimited),
		{"AccessDenied", "", rule{kind: cloud.Denied, fix: fixPolicy}},
		{"", "LimitExceeded", rule{kind: cloud.Quota, fix: fixQuota}},
		{"", "LimitExceededException", rule{kind: cloud.Quota, fix: fixQuota}},
		of("Invalid", "", cloud.Invalid),
		of("Malformed", "", cloud.Invalid),
		of("Unsupported", "", cloud.Invalid),
		of("Missing", "", cloud.Invalid),
	}
}
