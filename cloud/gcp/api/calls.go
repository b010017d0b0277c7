package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// row describes a call that det-deploy makes. Its name is from Google's discovery documents, its
// permissions from the IAM reference.
type row struct {
	// request is the method and the end of the path. * matches any name.
	request string
	edge.Call
}

func rows() []row {
	return slices.Concat(networkCalls(), diskCalls(), instanceCalls(), catalogCalls(), storageCalls(), iamCalls(), secretCalls(), otherCalls())
}

// Calls returns all calls. The transport rejects others.
func Calls() edge.Calls {
	var out edge.Calls
	for _, r := range rows() {
		out = append(out, r.Call)
	}
	return out
}

// freeCall returns a read-only call that requires no permission.
func freeCall(op string) edge.Call { return edge.Call{Op: op} }

// Table returns the calls and the error rules of Google Cloud.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPermission, FixCredentials: fixLogin}
}

// find returns the entry of a request. If several match, it returns the one with the longest path:
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

// takesRequestID reports whether a call has the parameter requestId, with which Compute Engine
// recognizes a repeated request.
func (r row) takesRequestID() bool {
	without := []string{"compute.snapshots.setLabels", "compute.subnetworks.setIamPolicy"}
	return r.Changes && strings.HasPrefix(r.Op, "compute.") && !slices.Contains(without, r.Op)
}

// isRepeatable reports whether a call that may have had its effect can be repeated.
func (r row) isRepeatable() bool { return !r.Changes || r.takesRequestID() || r.Repeatable }
