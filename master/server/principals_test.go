package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// decisions lists the principals with access to each call: a stranger, a user, that user's tools inside a
// task, an administrator, the administrator's tools inside a task, and a task. The results of the calls
// are covered by other tests. A new route needs a row here.
var decisions = map[string]string{
	"POST auth/login":                  "stranger user tools admin admin-tools any-task",
	"POST auth/logout":                 "user tools admin admin-tools",
	"GET me":                           "user tools admin admin-tools any-task",
	"GET auth/user":                    "user tools admin admin-tools any-task",
	"GET users":                        "user admin",
	"POST users":                       "admin",
	"GET users/{user}":                 "user admin",
	"GET users/{username}/by-username": "user admin",
	"PATCH users/{user}":               "owner admin",
	"GET users/{user}/sessions":        "owner admin",
	"POST users/{user}/sessions/{session}/end":        "owner admin",
	"POST agents/{agent}/revoke":                      "admin",
	"POST agents/{agent}/admit":                       "admin",
	"GET revoked-agents":                              "admin",
	"GET join-tokens":                                 "admin",
	"POST join-tokens":                                "admin",
	"POST join-tokens/revoke":                         "admin",
	"POST master/rotate-keys":                         "admin",
	"GET master":                                      "stranger user tools admin admin-tools any-task",
	"GET master/telemetry":                            "stranger user tools admin admin-tools any-task",
	"GET master/config":                               "admin",
	"GET master/logs":                                 "user admin", // others get one line
	"GET audit":                                       "admin",
	"GET workspaces":                                  "user tools admin admin-tools",
	"GET workspaces/{workspace}":                      "user tools admin admin-tools",
	"GET agents":                                      "user tools admin admin-tools",
	"GET agents/{agent}":                              "user tools admin admin-tools",
	"POST agents/{agent}/enable":                      "admin",
	"POST agents/{agent}/disable":                     "admin",
	"GET agents/{agent}/slots":                        "user tools admin admin-tools",
	"GET agents/{agent}/slots/{slot}":                 "user tools admin admin-tools",
	"POST agents/{agent}/slots/{slot}/enable":         "admin",
	"POST agents/{agent}/slots/{slot}/disable":        "admin",
	"GET resource-pools":                              "user tools admin admin-tools",
	"GET resource-pools/{pool}/machines":              "user tools admin admin-tools",
	"GET job-queues-v2":                               "user tools admin admin-tools",
	"GET job-queues/stats":                            "user tools admin admin-tools",
	"POST job-queues":                                 "user tools admin admin-tools",
	"GET resources/allocation/raw":                    "user admin",
	"GET resources/allocation/aggregated":             "user admin",
	"GET resources/usage":                             "user admin",
	"GET /resources/allocation/raw":                   "user admin",
	"GET /resources/allocation/aggregated":            "user admin",
	"GET /resources/allocation/allocations-csv":       "user admin",
	"POST commands":                                   "user tools admin admin-tools",
	"POST commands/preview":                           "user tools admin admin-tools",
	"GET commands":                                    "user tools admin admin-tools",
	"GET commands/{command}":                          "user tools admin admin-tools",
	"POST services/{service}/open":                    "owner admin",
	"POST shells":                                     "user tools admin admin-tools",
	"GET shells":                                      "user tools admin admin-tools",
	"GET shells/{shell}":                              "user tools admin admin-tools",
	"POST shells/{shell}/kill":                        "owner owner-tools admin",
	"POST shells/{shell}/set_priority":                "owner owner-tools admin",
	"POST notebooks":                                  "user tools admin admin-tools",
	"GET notebooks":                                   "user tools admin admin-tools",
	"GET notebooks/{notebook}":                        "user tools admin admin-tools",
	"POST notebooks/{notebook}/kill":                  "owner owner-tools admin",
	"POST notebooks/{notebook}/set_priority":          "owner owner-tools admin",
	"POST tensorboards":                               "user tools admin admin-tools",
	"GET tensorboards":                                "user tools admin admin-tools",
	"GET tensorboards/{tensorboard}":                  "user tools admin admin-tools",
	"POST tensorboards/{tensorboard}/kill":            "owner owner-tools admin",
	"POST tensorboards/{tensorboard}/set_priority":    "owner owner-tools admin",
	"POST cleanup_logs":                               "admin",
	"POST generic-tasks":                              "user tools admin admin-tools",
	"POST tasks/{generic}/kill":                       "owner owner-tools admin",
	"POST tasks/{generic}/pause":                      "owner owner-tools admin",
	"POST tasks/{generic}/unpause":                    "owner owner-tools admin",
	"GET tasks/{generic}/config":                      "owner owner-tools admin",
	"POST commands/{command}/kill":                    "owner owner-tools admin",
	"GET task-history":                                "user tools admin admin-tools",
	"GET task-arrays/{array}":                         "user tools admin admin-tools",
	"GET names/{kind}":                                "user tools admin admin-tools",
	"POST task-arrays/{array}/kill":                   "owner owner-tools admin",
	"POST commands/{command}/set_priority":            "owner owner-tools admin",
	"GET context-limits":                              "user tools admin admin-tools",
	"POST contexts":                                   "user tools admin admin-tools",
	"POST contexts/{context}/pieces":                  "user tools admin admin-tools",
	"GET tasks":                                       "user tools admin admin-tools",
	"GET /tasks":                                      "user tools admin admin-tools",
	"GET tasks/{task}":                                "user tools admin admin-tools",
	"POST tasks/{task}/context_copies":                "owner owner-tools admin",
	"GET tasks/{task}/context_directory":              "owner owner-tools admin task",
	"GET tasks/{task}/exec":                           "owner admin",
	"GET tasks/{task}/port":                           "owner admin",
	"GET tasks/{task}/files":                          "owner admin",
	"PUT tasks/{task}/files":                          "owner admin",
	"POST task/logs":                                  "owner owner-tools admin task",
	"POST /task-logs":                                 "owner owner-tools admin",
	"GET tasks/{task}/logs":                           "user owner-tools admin",
	"GET tasks/{task}/logs/fields":                    "user owner-tools admin",
	"POST allocations/{allocation}/ready":             "task",
	"POST allocations/{allocation}/waiting":           "task",
	"POST allocations/{allocation}/acceleratorData":   "task",
	"GET allocations/{allocation}/signals/preemption": "task",
	"GET allocations/{allocation}/resources/{resources}/rendezvous": "task",
	"POST allocations/{allocation}/resources/{resources}/daemon":    "task",
	"POST allocations/{allocation}/all_gather":                      "task",
	"POST allocations/{allocation}/notify_container_running":        "task",
	"POST allocations/{allocation}/proxy_address":                   "task",
	"GET allocations/{allocation}":                                  "user tools admin admin-tools",
	"POST allocations/{allocation}/signals/ack_preemption":          "task",
	"POST allocations/{allocation}/signals/pending_preemption":      "owner owner-tools admin",
}

// principals returns the tokens of all principals. The user owns the experiment of a whole world and the
// task t1.
func (w *world) principals(t *testing.T) map[string]string {
	t.Helper()
	adminTools := w.toolsOf(t, 1, "t2.1")
	return map[string]string{
		"stranger": "", "user": w.user, "tools": w.tools, "admin": w.admin, "admin-tools": adminTools, "task": w.task,
	}
}

// principals adds a user unrelated to the experiment, and tasks that are not its trials.
func (w *whole) principals(t *testing.T) map[string]string {
	t.Helper()
	ada := w.someUser(t, "ada")
	all := w.world.principals(t)
	all["task"], all["other-task"] = w.trial, w.task
	all["other"], all["other-tools"] = w.login(t, "ada"), w.toolsOf(t, ada.GetId(), "t3.1")
	return all
}

// toolsOf returns the token of a user's tools inside a task.
func (w *world) toolsOf(t *testing.T, user int32, allocation string) string {
	t.Helper()
	_, tools, err := w.auth.TaskTokens(t.Context(), user, allocation)
	if err != nil {
		t.Fatal(err)
	}
	return string(tools)
}

// someUser creates a user who is not an administrator.
func (w *world) someUser(t *testing.T, name string) *apiv1.User {
	t.Helper()
	by, err := w.auth.User(1)
	if err != nil {
		t.Fatal(err)
	}
	u, err := w.auth.CreateUser(t.Context(), by, &apiv1.PostUserRequest{User: &apiv1.User{Username: name, Active: true}, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// launches has no history.
type launches struct{}

func (launches) History(context.Context, string) ([]*apiv1.Machine, error) { return nil, nil }

func TestEveryRouteHasAccess(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.furnish(t)
	who := w.principals(t)
	for _, r := range endsLast(w.routes()) {
		name := r.method + " " + r.path
		may, decided := decisionOn(name)
		if !decided {
			t.Errorf("%s: got no decision on who may call it; add a row", name)
			continue
		}
		if strings.HasSuffix(r.path, "logout") {
			continue // it would end the tokens of the following rows; TestCookies covers it
		}
		for _, principal := range w.inOrder(may) {
			rec := w.askOnce(t, r, who[principal])
			got := rec.Code != http.StatusUnauthorized && rec.Code != http.StatusForbidden
			if want := slices.Contains(expand(may), principal); got != want {
				t.Errorf("%s by %s: got %d %s, want it let through: %v", name, principal, rec.Code, rec.Body, want)
			}
		}
	}
}

// endsLast moves the routes that delete to the end, inner objects first.
func endsLast(all []route) []route {
	slices.SortStableFunc(all, func(a, b route) int {
		rank := func(r route) int {
			if r.method != http.MethodDelete {
				return 0
			}
			return 100 - strings.Count(r.path, "/") + strings.Count(r.path, "workspaces")
		}
		return rank(a) - rank(b)
	})
	return all
}

// inOrder returns all principals. Those without access come first because a permitted call may end the
// object.
func (w *whole) inOrder(may string) []string {
	all := []string{"stranger", "other-task", "task", "other-tools", "admin-tools", "other", "tools", "user", "admin"}
	allowed := expand(may)
	slices.SortStableFunc(all, func(a, b string) int {
		switch x, y := slices.Contains(allowed, a), slices.Contains(allowed, b); {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return all
}

// askOnce calls a route. Streams and calls that wait for other containers or for files to be deleted are
// abandoned after a moment, because callers without access are rejected before.
func (w *whole) askOnce(t *testing.T, r route, token string) *httptest.ResponseRecorder {
	t.Helper()
	ctx := t.Context()
	if r.streams || r.access == allocation || strings.HasSuffix(r.path, "/tensorboard-files") {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, mostWait)
		defer leave()
	}
	return w.askIn(ctx, r.method, w.fill(r), token, w.bodyFor(r))
}

// decisionOn returns the decision for a route.
func decisionOn(name string) (string, bool) {
	for _, rows := range []map[string]string{decisions, workspaceDecisions, experimentDecisions} {
		if may, found := rows[name]; found {
			return may, true
		}
	}
	return "", false
}

// expand expands the words of a decision to principals. Access of every user includes the owner.
func expand(may string) []string {
	var out []string
	for _, word := range strings.Fields(may) {
		switch word {
		case "owner":
			out = append(out, "user")
		case "owner-tools":
			out = append(out, "tools")
		case "user", "tools":
			out = append(out, word, strings.Replace("other-"+word, "-user", "", 1))
		case "any-task":
			out = append(out, "task", "other-task")
		default:
			out = append(out, word)
		}
	}
	return out
}

// bodyFor returns a body that passes the checks common to all users.
func (w *whole) bodyFor(r route) string {
	switch r.path {
	case "task/logs":
		return `{"logs":[{"taskId":"` + w.ids["task"] + `"}]}`
	case "/task-logs":
		return `[{"task_id":"` + w.ids["task"] + `"}]`
	case "trials":
		create := `{"experimentId":` + w.ids["experiment"] + `,"unmanaged":true}`
		if r.method == http.MethodPut {
			return `{"createTrialRequest":` + create + `,"externalTrialId":"a"}`
		}
		return create
	case externalPath + "{external}":
		return `{"config":"{searcher: {name: single, metric: loss}}","unmanaged":true,"validateOnly":true}`
	case "trial-source-info":
		return `{"trialSourceInfo":{"trialId":` + w.ids["trial"] + `,"checkpointUuid":"` + checkpointA + `","trialSourceInfoType":"TRIAL_SOURCE_INFO_TYPE_INFERENCE"}}`
	case "auth/login":
		return `{"username":"determined","password":"` + password + `"}`
	case "runs/start":
		return `{"runId":` + w.ids["run"] + `}`
	case "checkpoints":
		if r.method == http.MethodPost {
			return w.reportBody(checkpointA)
		}
		return `{"checkpoints":[{"uuid":"` + checkpointA + `","resources":{"resources":{"weights":"4"}}}],"checkpointUuids":["` + checkpointA + `"]}`
	case "checkpoints/rm":
		return `{"checkpointUuids":["` + checkpointA + `"],"checkpointGlobs":["x"]}`
	case "allocations/{allocation}/all_gather", "allocations/{allocation}/notify_container_running":
		return `{"requestUuid":"u","numPeers":1,"data":{}}`
	case "models/{model}/versions":
		return `{"checkpointUuid":"` + checkpointA + `"}`
	case "experiments/continue":
		return `{"id":` + w.ids["experiment"] + `}`
	}
	return "{}"
}

func TestRouteWithoutAccessAdmitsNoCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for principal, text := range w.principals(t) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+text)
		if err := w.gatekeeper.identifyCaller(&call{Request: r}, route{}); err == nil {
			t.Errorf("%s: got in, want an error", principal)
		}
	}
}

// Only its owner may see more of a task than its name, state and resources.
func TestVisibleFieldsOfTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who := w.principals(t)
	seen := func(path, principal string) (code int, body string) {
		rec := w.ask(t, "GET", prefix+path, who[principal], "")
		return rec.Code, rec.Body.String()
	}
	// t1 belongs to the user "determined", and t2 to the administrator.
	tests := []struct {
		principal, task string
		secret          bool
	}{
		{"user", "t1", true},
		{"tools", "t1", true},
		{"admin", "t1", true},
		{"admin", "t2", true},
		{"admin-tools", "t2", true},
		{"user", "t2", false},
		{"tools", "t2", false},
		{"admin-tools", "t1", false},
	}
	for _, tt := range tests {
		for _, path := range []string{"commands/" + tt.task, "commands/" + tt.task + "?detail=true", "tasks/" + tt.task} {
			code, body := seen(path, tt.principal)
			if got := strings.Contains(body, "hunter2"); code != 200 || got != tt.secret {
				t.Errorf("%s by %s: got %d %s, want its secrets shown: %v", path, tt.principal, code, body, tt.secret)
			}
		}
		for _, path := range []string{"commands/" + tt.task, "commands", "task-history", "task-arrays/a1"} {
			if code, body := seen(path, tt.principal); code != 200 || strings.Contains(body, "swordfish-"+tt.task) != tt.secret {
				t.Errorf("%s by %s: got %d %s, want the command line of %s shown: %v", path, tt.principal, code, body, tt.task, tt.secret)
			}
		}
		code, body := seen("tasks/"+tt.task+"/context_directory", tt.principal)
		if want := map[bool]int{true: 200, false: 403}[tt.secret]; code != want {
			t.Errorf("the files of %s by %s: got %d %s, want %d", tt.task, tt.principal, code, body, want)
		}
		if _, body := seen("commands", tt.principal); !strings.Contains(body, `"t2"`) || strings.Contains(body, "hunter2") {
			t.Errorf("the list by %s: got %s, want all by name and no secret", tt.principal, body)
		}
	}
	if _, body := seen("commands/t2", "user"); !strings.Contains(squeeze(body), `"slots":3`) {
		t.Errorf("got %s, want the slots of somebody else's task", body)
	}
}

func TestLogVisibility(t *testing.T) {
	t.Parallel()
	tests := []struct {
		principal, task string
		private         bool
		code            int
	}{
		{"user", "t2", false, 200},
		{"user", "t2", true, 403},
		{"user", "t1", true, 200},
		{"tools", "t1", true, 200},
		{"tools", "t2", false, 403}, // users other than the owner can read a task's environment
		{"admin", "t1", true, 200},
		{"admin-tools", "t1", false, 403},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.remake(t, func(c *Config) { c.PrivateLogs = tt.private })
		for _, path := range []string{"/logs", "/logs/fields"} {
			rec := w.ask(t, "GET", prefix+"tasks/"+tt.task+path, w.principals(t)[tt.principal], "")
			if rec.Code != tt.code {
				t.Errorf("%s%s by %s, private %v: got %d %s, want %d", tt.task, path, tt.principal, tt.private, rec.Code, rec.Body, tt.code)
			}
		}
	}
}
