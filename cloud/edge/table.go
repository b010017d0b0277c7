package edge

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// Table holds the API calls of a platform and the rules for its errors.
type Table struct {
	Calls Calls
	Rules Rules
	// FixDenied is the advice for a missing permission if no rule has one.
	FixDenied string
	// FixCredentials is the advice for missing credentials.
	FixCredentials string
}

// Refuse converts a failed call to a cloud.Error. Changing reports whether the call may have
// modified resources.
func (t Table) Refuse(op string, changing bool, a Answer) *cloud.Error {
	kind := t.KindOf(changing, a)
	return &cloud.Error{Kind: kind, Op: op, Fix: t.fixOf(op, kind, a), Err: a.toRefusal()}
}

// RefuseItem returns the error for one item of a batch call that succeeded as a whole.
func (t Table) RefuseItem(op, item string, a Answer) *cloud.Error {
	kind := cloud.Unknown
	if r, ok := t.Rules.Find(a.Code, a.Message); ok {
		kind = r.Kind
	}
	return &cloud.Error{Kind: kind, Op: op, Resource: item, Fix: t.fixOf(op, kind, a), Err: a.toRefusal()}
}

// KindOf classifies a failed call:
//
//	error response of the service   by the rules; unavailable and changing: ambiguous
//	other response                  by the HTTP status
//	never connected                 unavailable: the request was not sent
//	sent, no response               ambiguous when changing, else unavailable
func (t Table) KindOf(changing bool, a Answer) cloud.Kind {
	kind, answered := t.answerKind(a)
	switch {
	case answered && kind == cloud.Unavailable && changing:
		return cloud.Ambiguous
	case answered:
		return kind
	case a.Transport == Unauthenticated:
		return cloud.Denied
	case a.Transport == Malformed:
		return cloud.Invalid
	case a.Transport == Unconnected:
		return cloud.Unavailable
	case changing:
		return cloud.Ambiguous
	case a.Transport == Lost:
		return cloud.Unavailable
	}
	return cloud.Unknown
}

// answerKind classifies the service's error response. Answered is false if there was none.
func (t Table) answerKind(a Answer) (kind cloud.Kind, answered bool) {
	if a.Code != "" {
		if r, ok := t.Rules.Find(a.Code, a.Message); ok {
			return r.Kind, true
		}
		if a.Status == 0 {
			return cloud.Unknown, true
		}
	}
	return kindOfStatus(a.Status)
}

func kindOfStatus(status int) (kind cloud.Kind, answered bool) {
	switch {
	case status >= http.StatusInternalServerError:
		return cloud.Unavailable, true
	case status == http.StatusTooManyRequests:
		return cloud.RateLimited, true
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return cloud.Denied, true
	case status == http.StatusNotFound:
		return cloud.NotFound, true
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		return cloud.Conflict, true
	case status >= http.StatusBadRequest:
		return cloud.Invalid, true
	}
	return cloud.Unknown, false
}

func (t Table) fixOf(op string, kind cloud.Kind, a Answer) string {
	if a.Transport == Unauthenticated {
		return cmp.Or(a.Fix, t.FixCredentials)
	}
	fix := a.Fix
	if fix == "" && a.Code != "" {
		r, _ := t.Rules.Find(a.Code, a.Message) // no rule: no fix
		fix = r.Fix
	}
	if fix == "" && kind == cloud.Denied {
		fix = t.FixDenied
	}
	return strings.ReplaceAll(fix, "{permissions}", t.Calls.describePermissions(op))
}
