package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// row is a call that det-deploy makes. Google's discovery documents have its name, and its IAM
// reference the permissions.
type row struct {
	// request is the method and the end of the path, in which * is any name.
	request string
	edge.Call
}

func rows() []row {
	return slices.Concat(networkCalls(), diskCalls(), instanceCalls(), catalogCalls(), storageCalls(), iamCalls(), secretCalls(), otherCalls())
}

// Calls lists every call. The transport refuses others.
func Calls() edge.Calls {
	var out edge.Calls
	for _, r := range rows() {
		out = append(out, r.Call)
	}
	return out
}

// freeCall is a call that changes nothing and that everybody may make.
func freeCall(op string) edge.Call { return edge.Call{Op: op} }

// Table is what is known of Google's calls and codes.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPermission, FixCredentials: fixLogin}
}

// find returns the row of a request. Of several that fit it is the one with the longest path:
// "secrets/*:addVersion" rather than "secrets/*".
func find(all []row, r *http.Request) (found row, ok bool) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for _, candidate := range all {
		method, pattern, _ := strings.Cut(candidate.request, " ")
		n := strings.Count(pattern, "/") + 1
		if method != r.Method || n > len(segments) || len(candidate.request) < len(found.request) {
			continue
		}
		if fits, err := path.Match(pattern, strings.Join(segments[len(segments)-n:], "/")); err == nil && fits {
			found, ok = candidate, true
		}
	}
	return found, ok
}

// takesRequestID reports whether a call has a requestId, by which Compute Engine knows a change
// again that it was asked for before.
func (r row) takesRequestID() bool {
	without := []string{"compute.snapshots.setLabels", "compute.subnetworks.setIamPolicy"}
	return r.Changes && strings.HasPrefix(r.Op, "compute.") && !slices.Contains(without, r.Op)
}

// isRepeatable reports whether a call that may have had its effect can be made again. Of log
// entries with the same time and insertId, which all of ours have, Google keeps one.
func (r row) isRepeatable() bool {
	return !r.Changes || r.takesRequestID() || r.Op == "logging.entries.write"
}
