package hostile_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// request is one call of the API; calls about an object refer to one of alice's.
type request struct {
	// id is the method and path as in docs/reference/openapi.json.
	id string
	// query and body are sent with it.
	query, body string
	// by is the authorized caller: a key of world.tokens, "allocation" or "trial".
	by string
	// last marks a request after which few others work.
	last bool
	// unseen is the reason why no control carries it out here, so that attempts at it prove less.
	unseen string
	// user marks a request that ordinary users may make too, if only about their own objects.
	user bool
}

// requests are the calls that need a token, in an order in which each can be carried out after
// those before it.
var requests = slices.Concat(clusterRequests, experimentRequests, lastRequests)

// clusterRequests are all requests that are not about experiments.
var clusterRequests = []request{
	{id: "GET /api/v1/me", by: "alice", user: true},
	{id: "GET /api/v1/auth/user", by: "alice", user: true},
	{id: "GET /api/v1/users", by: "alice", user: true},
	{id: "GET /api/v1/users/{user}", by: "alice", user: true},
	{id: "GET /api/v1/users/{username}/by-username", by: "alice", user: true},
	{id: "GET /api/v1/workspaces", by: "alice", user: true},
	{id: "GET /api/v1/workspaces/{workspace}", by: "alice", user: true},
	{id: "GET /api/v1/workspaces/{workspace}/projects", by: "alice", user: true},
	{id: "GET /api/v1/workspaces/{workspace}/available-resource-pools", by: "alice", user: true},
	{id: "GET /api/v1/workspaces/{workspace}/list-namespace-bindings", by: "alice", user: true},
	{id: "POST /api/v1/workspaces", by: "alice", user: true, body: `{"name": "made-{mark}"}`},
	{id: "PATCH /api/v1/workspaces/{workspace}", by: "alice", body: `{"defaultComputePool": "default"}`},
	{id: "POST /api/v1/workspaces/{workspace}/archive", by: "alice"},
	{id: "POST /api/v1/workspaces/{workspace}/unarchive", by: "alice"},
	{id: "POST /api/v1/workspaces/{workspace}/pin", by: "alice", user: true},
	{id: "POST /api/v1/workspaces/{workspace}/unpin", by: "alice", user: true},
	{id: "POST /api/v1/workspaces/{workspace}/projects", by: "alice", user: true, body: `{"name": "made-{mark}"}`},
	{id: "GET /api/v1/projects/{project}", by: "alice", user: true},
	{id: "GET /api/v1/projects/key/{key}", by: "alice", user: true},
	{id: "PATCH /api/v1/projects/{project}", by: "alice", body: `{"description": "changed"}`},
	{id: "POST /api/v1/projects/{project}/notes", by: "alice", body: `{"name": "n", "contents": "c"}`},
	{id: "PUT /api/v1/projects/{project}/notes", by: "alice", body: `{"notes": []}`},
	{id: "POST /api/v1/projects/{project}/archive", by: "alice"},
	{id: "POST /api/v1/projects/{project}/unarchive", by: "alice"},
	{id: "POST /api/v1/projects/{project}/move", by: "alice", body: `{"destinationWorkspaceId": "{workspace}"}`},
	{id: "GET /api/v1/templates", by: "alice", user: true},
	{id: "GET /api/v1/templates/{template}", by: "alice", user: true},
	{id: "PATCH /api/v1/templates/{template}", by: "alice", body: `{"description": "forged"}`},
	{id: "PUT /api/v1/templates/{template}", by: "alice", body: `{"config": {"description": "forged"}}`},
	{id: "PATCH /api/v1/template/rename", by: "alice", body: `{"oldName": "{template}", "newName": "{template}"}`},
	{id: "GET /api/v1/models", by: "alice", user: true},
	{id: "GET /api/v1/model/labels", by: "alice", user: true},
	{id: "POST /api/v1/models", by: "alice", user: true, body: `{"name": "made-{mark}"}`},
	{id: "GET /api/v1/models/{model}", by: "alice", user: true},
	{id: "GET /api/v1/models/{model}/versions", by: "alice", user: true},
	{id: "PATCH /api/v1/models/{model}", by: "alice", body: `{"description": "forged"}`},
	{id: "POST /api/v1/models/{model}/archive", by: "alice"},
	{id: "POST /api/v1/models/{model}/unarchive", by: "alice"},
	{id: "POST /api/v1/models/{model}/move", by: "alice", body: `{"destinationWorkspaceId": 1}`},
	{id: "GET /api/v1/agents", by: "alice", user: true},
	{id: "GET /api/v1/agents/{agent}", by: "alice", user: true},
	{id: "GET /api/v1/agents/{agent}/slots", by: "alice", user: true},
	{id: "GET /api/v1/agents/{agent}/slots/{slot}", by: "alice", user: true},
	{id: "GET /api/v1/resource-pools", by: "alice", user: true},
	{id: "GET /api/v1/job-queues-v2", by: "alice", user: true},
	{id: "GET /api/v1/job-queues/stats", by: "alice", user: true},
	{id: "GET /api/v1/commands", by: "alice", user: true},
	{id: "GET /api/v1/commands/{command}", by: "alice", user: true},
	{id: "GET /api/v1/task-history", by: "alice", user: true},
	{id: "GET /api/v1/task-arrays/{array}", by: "alice", user: true},
	{id: "GET /api/v1/names/{kind}", query: "?text=a", by: "alice", user: true},
	{id: "GET /api/v1/tasks", by: "alice", user: true},
	{id: "GET /tasks", by: "alice", user: true},
	{id: "GET /api/v1/tasks/{task}", by: "alice", user: true},
	{id: "GET /api/v1/tasks/{task}/logs", by: "alice"},
	{id: "GET /api/v1/tasks/{task}/logs/fields", by: "alice"},
	{id: "GET /api/v1/tasks/{task}/context_directory", by: "alice"},
	{id: "POST /api/v1/tasks/{task}/context_copies", by: "alice"},
	{id: "GET /api/v1/tasks/{task}/exec", by: "alice", unseen: "it opens a websocket"},
	{id: "GET /api/v1/tasks/{task}/port", by: "alice", query: "?port=80", unseen: "it opens a websocket"},
	{id: "GET /api/v1/tasks/{task}/files", by: "alice", query: "?path=/", unseen: "the task must run"},
	{id: "PUT /api/v1/tasks/{task}/files", by: "alice", query: "?path=/", unseen: "the task must run"},
	{id: "GET /api/v1/context-limits", by: "alice", user: true},
	{id: "POST /api/v1/contexts", by: "alice", user: true, body: `{"files": [{"path": "empty", "type": 48}]}`},
	{id: "POST /api/v1/contexts/{context}/pieces", by: "alice", user: true, unseen: "its body is a compressed archive"},
	{id: "POST /api/v1/commands", by: "alice", user: true, body: `{"config": {"entrypoint": ["true"], "resources": {"slots": 0}}}`},
	{id: "POST /api/v1/commands/preview", by: "alice", user: true, body: `{"config": {"entrypoint": ["true"], "resources": {"slots": 0}}}`},
	{id: "POST /api/v1/shells", by: "alice", user: true, body: `{"config": {"resources": {"slots": 0}}}`},
	{id: "GET /api/v1/shells", by: "alice", user: true},
	{id: "GET /api/v1/shells/{shell}", by: "alice", user: true},
	{id: "POST /api/v1/shells/{shell}/set_priority", by: "alice", body: `{"priority": 43}`},
	{id: "POST /api/v1/notebooks", by: "alice", user: true, body: `{"config": {"resources": {"slots": 0}}}`},
	{id: "GET /api/v1/notebooks", by: "alice", user: true},
	{id: "GET /api/v1/notebooks/{notebook}", by: "alice", user: true},
	{id: "POST /api/v1/notebooks/{notebook}/set_priority", by: "alice", body: `{"priority": 43}`},
	{id: "POST /api/v1/generic-tasks", by: "alice", user: true, body: genericTask},
	{id: "GET /api/v1/tasks/{generic}/config", by: "alice"},
	{id: "POST /api/v1/tasks/{generic}/pause", by: "alice"},
	{id: "POST /api/v1/tasks/{generic}/unpause", by: "alice"},
	{id: "POST /api/v1/services/{service}/open", by: "alice"},
	{id: "POST /api/v1/commands/{command}/set_priority", by: "alice", body: `{"priority": 43}`},
	{id: "POST /api/v1/job-queues", by: "admin", body: `{"updates": [{"jobId": "{job}", "priority": 41}]}`},
	{id: "POST /api/v1/task/logs", by: "alice", body: `{"logs": [{"taskId": "{task}", "log": "forged", "timestamp": "2026-01-01T00:00:00Z"}]}`},
	{id: "GET /api/v1/allocations/{allocation}/signals/preemption", query: "?timeoutSeconds=0", by: "allocation"},
	{id: "GET /api/v1/allocations/{allocation}/resources/{resources}/rendezvous", by: "allocation"},
	{id: "POST /api/v1/allocations/{allocation}/acceleratorData", by: "allocation", body: `{}`},
	{id: "POST /api/v1/allocations/{allocation}/ready", by: "allocation"},
	{id: "POST /api/v1/allocations/{allocation}/waiting", by: "allocation"},
	{id: "POST /api/v1/allocations/{allocation}/signals/pending_preemption", by: "alice"},
	{id: "POST /api/v1/allocations/{allocation}/signals/ack_preemption", by: "allocation"},
	{id: "GET /api/v1/allocations/{allocation}", by: "alice", user: true},
	{id: "POST /api/v1/allocations/{allocation}/resources/{resources}/daemon", by: "allocation"},
	{id: "POST /api/v1/allocations/{allocation}/all_gather", by: "allocation", body: `{"requestUuid":"u","numPeers":1,"data":{}}`},
	{id: "POST /api/v1/allocations/{allocation}/notify_container_running", by: "allocation", body: `{"requestUuid":"u","numPeers":1,"data":{}}`},
	{id: "POST /api/v1/allocations/{allocation}/proxy_address", by: "allocation", body: `{"proxyAddress":"10.0.0.1"}`},
	{id: "GET /api/v1/master/config", by: "admin"},
	{id: "POST /api/v1/cleanup_logs", by: "admin"},
	{id: "GET /api/v1/master/logs", query: "?limit=1", by: "admin"},
	{id: "POST /api/v1/users", by: "admin", body: `{"user": {"username": "made-{mark}", "active": true, "admin": true}, "password": "Made-By-4242"}`},
	{id: "GET /api/v1/users/{user}/sessions", by: "alice"},
	{id: "POST /api/v1/users/{user}/sessions/{session}/end", by: "alice"},
	{id: "PATCH /api/v1/users/{user}", by: "admin", body: `{"displayName": "somebody else"}`},
}

// lastRequests end objects that the others need.
var lastRequests = []request{
	{id: "POST /api/v1/agents/{agent}/slots/{slot}/disable", by: "admin", last: true, body: `{}`},
	{id: "POST /api/v1/agents/{agent}/slots/{slot}/enable", by: "admin", last: true},
	{id: "POST /api/v1/agents/{agent}/disable", by: "admin", last: true, body: `{}`},
	{id: "POST /api/v1/agents/{agent}/enable", by: "admin", last: true},
	{id: "GET /api/v1/audit", by: "admin"},
	{id: "GET /api/v1/revoked-agents", by: "admin"},
	{id: "GET /api/v1/join-tokens", by: "admin"},
	{id: "POST /api/v1/join-tokens", by: "admin", body: `{"resourcePool": "default", "validForSeconds": 60, "uses": 1}`},
	{id: "POST /api/v1/join-tokens/revoke", by: "admin", body: `{"token": "{counted}"}`},
	{id: "DELETE /api/v1/models/{model}", by: "alice", last: true},
	{id: "DELETE /api/v1/templates/{template}", by: "alice", last: true},
	{id: "POST /api/v1/templates/{template}", by: "alice", last: true, user: true, body: `{"config": {}}`},
	{id: "DELETE /api/v1/projects/{project}", by: "alice", last: true},
	{id: "DELETE /api/v1/workspaces/{workspace}", by: "alice", last: true},
	{id: "POST /api/v1/shells/{shell}/kill", by: "alice", last: true},
	{id: "POST /api/v1/notebooks/{notebook}/kill", by: "alice", last: true},
	{id: "POST /api/v1/tasks/{generic}/kill", by: "alice", last: true},
	{id: "POST /api/v1/commands/{command}/kill", by: "alice", last: true},
	{id: "POST /api/v1/task-arrays/{array}/kill", by: "alice", last: true},
	{id: "POST /api/v1/master/rotate-keys", by: "admin", last: true},
	{id: "POST /api/v1/agents/{agent}/revoke", by: "admin", last: true},
	{id: "POST /api/v1/agents/{agent}/admit", by: "admin", last: true},
	{id: "POST /api/v1/auth/logout", by: "frank", last: true, user: true},
}

// call returns the request with a header.
func (r request) call(h http.Header) call {
	method, path, _ := strings.Cut(r.id, " ")
	return call{method: method, path: path + r.query, body: r.body, header: h}
}

// control returns the request by its authorized caller.
func (r request) control() *control {
	return &control{r.id, func(ctx context.Context, w *world) outcome {
		h := bearing(w.tokens[r.by])
		if r.by == "allocation" {
			h = allocating(w.tokens["alice-allocation"])
		}
		if r.by == "trial" {
			h = allocating(w.tokens["trial"])
		}
		return w.carryOut(ctx, r.call(h))
	}}
}

// carryOut sends a call and reports success for a 2xx response.
func (w *world) carryOut(ctx context.Context, c call) outcome {
	a, err := w.do(ctx, c)
	return a.judge(err)
}

// TestEveryCallIsAttempted reports calls of the API that are missing from requests.
func TestEveryCallIsAttempted(t *testing.T) {
	t.Parallel()
	var api struct {
		Paths map[string]map[string]struct {
			Security []json.RawMessage `json:"security"`
		} `json:"paths"`
	}
	text, err := os.ReadFile("../../docs/reference/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &api)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range api.Paths {
		for method, m := range methods {
			id := strings.ToUpper(method) + " " + path
			known := slices.ContainsFunc(requests, func(r request) bool { return r.id == id })
			if len(m.Security) > 0 && !known {
				t.Errorf("%s is attempted by nobody; add it to requests", id)
			}
		}
	}
}
