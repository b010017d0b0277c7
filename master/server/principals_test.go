package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// decisions says of every call who gets past the door: a stranger, a user, that
// user's tools inside a task, an administrator, the administrator's tools inside a
// task, and a task itself. What they get behind it is the business of other tests.
// A new route needs a row here, and with it a thought.
var decisions = map[string]string{
	"POST auth/login":                  "stranger user tools admin admin-tools task",
	"POST auth/logout":                 "user tools admin admin-tools",
	"GET me":                           "user tools admin admin-tools task",
	"GET auth/user":                    "user tools admin admin-tools task",
	"GET users":                        "user admin",
	"POST users":                       "admin",
	"GET users/{user}":                 "user admin",
	"GET users/{username}/by-username": "user admin",
	"PATCH users/{user}":               "user admin",
	"GET users/{user}/sessions":        "user admin",
	"POST users/{user}/sessions/{session}/end":        "user admin",
	"POST agents/{agent}/revoke":                      "admin",
	"POST agents/{agent}/admit":                       "admin",
	"GET revoked-agents":                              "admin",
	"GET join-tokens":                                 "admin",
	"POST join-tokens":                                "admin",
	"POST join-tokens/revoke":                         "admin",
	"POST master/rotate-keys":                         "admin",
	"GET master":                                      "stranger user tools admin admin-tools task",
	"GET master/telemetry":                            "stranger user tools admin admin-tools task",
	"GET master/config":                               "admin",
	"GET master/logs":                                 "admin",
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
	"GET /resources/allocation/raw":                   "user admin",
	"GET /resources/allocation/aggregated":            "user admin",
	"GET /resources/allocation/allocations-csv":       "user admin",
	"POST commands":                                   "user tools admin admin-tools",
	"GET commands":                                    "user tools admin admin-tools",
	"GET commands/{command}":                          "user tools admin admin-tools",
	"POST commands/{command}/kill":                    "user tools admin admin-tools",
	"POST commands/{command}/set_priority":            "user tools admin admin-tools",
	"GET tasks":                                       "user tools admin admin-tools",
	"GET tasks/{task}":                                "user tools admin admin-tools",
	"GET tasks/{task}/context_directory":              "user tools admin task",
	"POST task/logs":                                  "user tools admin admin-tools task",
	"GET tasks/{task}/logs":                           "user tools admin",
	"GET tasks/{task}/logs/fields":                    "user tools admin",
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
	"POST allocations/{allocation}/signals/pending_preemption":      "user tools admin admin-tools",
}

// principals are those who may call.
func (w *world) principals(t *testing.T) map[string]string {
	t.Helper()
	_, adminTools, err := w.auth.TaskTokens(t.Context(), 1, "t2.1")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"stranger": "", "user": w.user, "tools": w.tools, "admin": w.admin, "admin-tools": string(adminTools), "task": w.task,
	}
}

// launches is a history of nothing.
type launches struct{}

func (launches) History(context.Context, string) ([]*apiv1.Machine, error) { return nil, nil }

func TestEveryRouteSaysWhoMayCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remake(t, func(c *Config) { c.Launches, c.Audit = launches{}, &notes{} })
	who := w.principals(t)
	path := strings.NewReplacer("{user}", "2", "{username}", "determined", "{agent}", "a", "{slot}", "0", "{pool}", "default",
		"{workspace}", "99", "{command}", "t1", "{task}", "t1", "{allocation}", "t1.1", "{session}", "none")
	for _, r := range w.routes() {
		name := r.method + " " + r.path
		may, decided := decisions[name]
		if !decided {
			may, decided = workspaceDecisions[name]
		}
		if !decided {
			t.Errorf("%s: got no decision on who may call it; add a row", name)
			continue
		}
		if strings.HasSuffix(r.path, "logout") {
			continue // it ends the tokens of the rows that follow; TestCookies has it
		}
		allowed := strings.Fields(may)
		for principal, text := range who {
			body := `{}`
			if r.path == "task/logs" {
				body = `{"logs":[{"taskId":"t1"}]}`
			}
			if r.path == "auth/login" {
				body = `{"username":"determined","password":"` + password + `"}`
			}
			rec := w.ask(t, r.method, path.Replace(r.fullPath()), text, body)
			got := rec.Code != http.StatusUnauthorized && rec.Code != http.StatusForbidden
			if want := slices.Contains(allowed, principal); got != want {
				t.Errorf("%s by %s: got %d %s, want it let through: %v", name, principal, rec.Code, rec.Body, want)
			}
		}
	}
}

func TestARouteThatSaysNothingLetsNobodyIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for principal, text := range w.principals(t) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+text)
		if err := w.guard.identifyCaller(&call{Request: r}, ""); err == nil {
			t.Errorf("%s: got in, want a refusal", principal)
		}
	}
}

// What a task holds besides its name, state and resources is its owner's.
func TestWhatOthersSeeOfATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who := w.principals(t)
	seen := func(path, principal string) (code int, body string) {
		rec := w.ask(t, "GET", prefix+path, who[principal], "")
		return rec.Code, rec.Body.String()
	}
	// t1 is of the user "determined", t2 of the administrator.
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
		for _, path := range []string{"commands/" + tt.task, "tasks/" + tt.task} {
			code, body := seen(path, tt.principal)
			if got := strings.Contains(body, "hunter2"); code != 200 || got != tt.secret {
				t.Errorf("%s by %s: got %d %s, want its secrets shown: %v", path, tt.principal, code, body, tt.secret)
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

func TestLogsAreOpenOrPrivate(t *testing.T) {
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
		{"tools", "t2", false, 403}, // a task's environment is read by more than its owner
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
