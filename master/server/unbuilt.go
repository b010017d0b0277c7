package server

import (
	"net/http"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

// Messages for calls of Determined 0.38.1 that are not implemented.
const (
	asMetrics    = "profilers report metrics of the groups cpu, gpu, memory, disk and network with trials/{trial}/metrics; read them with trials/metrics/trial_metrics"
	asksItself   = "the master asks the program of a notebook itself whether it is used"
	afterwards   = "it may come in a later version"
	otherQueues  = "read job-queues-v2 instead"
	inEnterprise = "it is part of Determined Enterprise; a det-deploy cluster has users and administrators"
)

// unbuilt maps path prefixes to messages. A longer prefix precedes its own prefixes.
var unbuilt = []struct{ prefix, comes string }{
	{"/api/v1/experiment", afterwards}, // experiments, experiments-search
	{"/api/v1/trials/profiler", asMetrics},
	{"/api/v1/trial", afterwards},
	{"/api/v1/runs", afterwards},
	{"/api/v1/metrics", afterwards},
	{"/api/v1/searcher", afterwards},
	{"/api/v1/preview-hp-search", afterwards},
	{"/api/v1/checkpoints", afterwards}, // metrics of trials that used a checkpoint
	{"/api/v1/model", afterwards},
	{"/api/v1/project", afterwards},
	{"/api/v1/workspaces", afterwards},
	{"/api/v1/user", afterwards}, // users, their settings and recent projects
	{"/api/v1/job-queues", otherQueues},
	{"/experiments", afterwards},
	{"/api/v1/notebooks", asksItself},
	{"/api/v1/tasks", afterwards},
	{"/api/v1/webhooks", afterwards},
	{"/api/v1/config-policies", afterwards},
	{"/api/v1/tokens", afterwards},
	{"/api/v1/namespace-bindings", afterwards},
	{"/api/v1/k8s-resource-managers", afterwards},
	{"/api/v1/resource-pools", afterwards},
	{"/api/v1/master", afterwards},
	{"/stream", afterwards},
	{"/api/v1/groups", inEnterprise},
	{"/api/v1/roles", inEnterprise},
	{"/api/v1/permissions", inEnterprise},
	{"/oauth2", inEnterprise},
	{"/saml", inEnterprise},
	{"/oidc", inEnterprise},
	{"/scim", inEnterprise},
}

// shadowed lists calls that are not implemented and that match the path of an implemented one.
func shadowed() []string {
	return []string{
		"GET " + prefix + "tasks/count",
		"POST " + prefix + "trials/profiler/metrics",
		"PATCH " + prefix + "users/assignments",
		"GET " + prefix + "users/setting",
	}
}

// comesWith returns the message for a known path that is not implemented.
func comesWith(path string) (sentence string, found bool) {
	if rest, begins := strings.CutPrefix(path, prefix+"trials/"); begins && strings.Contains(rest, "/profiler/") {
		return asMetrics, true
	}
	for _, u := range unbuilt {
		if rest, begins := strings.CutPrefix(path, u.prefix); begins && (rest == "" || strings.HasPrefix(u.prefix, prefix) || rest[0] == '/') {
			return u.comes, true
		}
	}
	return "", false
}

// notBuiltText returns the response for a call that is not implemented.
func notBuiltText(r *http.Request) string {
	text := excerpt.Of(r.Method) + " " + excerpt.Of(r.URL.Path) + " is not built in this version of det-deploy"
	if comes, found := comesWith(r.URL.Path); found {
		text += ": " + comes
	}
	return text
}

// notBuilt responds for unknown paths below the API prefix.
func (s *Server) notBuilt(w http.ResponseWriter, r *http.Request) {
	c := &call{Request: r, w: w}
	s.gatekeeper.refuseCall(c, status.New(status.Unimplemented, "%s", notBuiltText(r)), false)
}

// elsewhere responds for all other paths. Paths of Determined Enterprise return 404, as in the open-source
// edition, because clients distinguish the editions by it.
func elsewhere(w http.ResponseWriter, r *http.Request) {
	switch comes, found := comesWith(r.URL.Path); {
	case !found:
		plainError(w, http.StatusNotFound, "not found: "+excerpt.Of(r.URL.Path))
	case comes == inEnterprise:
		plainError(w, http.StatusNotFound, notBuiltText(r))
	default:
		plainError(w, http.StatusNotImplemented, notBuiltText(r))
	}
}
