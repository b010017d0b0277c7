package server

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Each row tests one rule of the wire format with a request of the det client.
func TestWireRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, user, task := w.admin, w.user, w.task
	launch := func(extra string) string { return `{"config":{"entrypoint":["ls"]},` + extra + `}` }
	tests := []struct {
		name              string
		method, path, who string
		body              string
		code              int
		want              string // a part of the body
	}{
		{"info needs no user", "GET", "/info", "", "", 200, `"version":"0.38.1"`},
		{"info names our version too", "GET", "/info", "", "", 200, `"det_deploy_version":"1.2.3"`},
		{"health", "GET", "/health", "", "", 200, `{"status":"up"}`},
		{"healthz", "GET", "/healthz", "", "", 200, `{"status":"up"}`},
		{"master needs no user", "GET", "/api/v1/master", "", "", 200, `"clusterName":"lab"`},
		{"unset messages are null", "GET", "/api/v1/master", "", "", 200, `"clusterMessage":null`},
		{"empty lists are lists", "GET", "/api/v1/master", "", "", 200, `"ssoProviders":[]`},
		{"false is written", "GET", "/api/v1/master", "", "", 200, `"rbacEnabled":false`},
		{"telemetry is off", "GET", "/api/v1/master/telemetry", "", "", 200, `"enabled":false`},
		{"a trailing slash is tolerated", "GET", "/api/v1/me/", user, "", 200, `"username":"determined"`},
		{"a call that is not built", "POST", "/api/v1/experiments", user, "{}", 501, `{"error":{"code":12,"reason":"Unimplemented","error":"POST /api/v1/experiments is not built`},
		{"a service is visited", "GET", "/proxy/t1/lab", user, "", 502, `does not answer`},
		{"the path of a service is its own", "GET", "/proxy/t1//../api", user, "", 502, `does not answer`},
		{"a service is opened", "POST", "/api/v1/services/t1/open", user, "", 200, `"https://services.example.com/proxy/t1/?token=ddticket1.`},
		{"the key of a shell", "GET", "/api/v1/shells/s1", user, "", 200, `"privateKey":"key"`},
		{"no key of a shell for programs in tasks", "GET", "/api/v1/shells/s1", w.tools, "", 200, `"privateKey":""`},
		{"no service", "POST", "/api/v1/services/t9:1/open", user, "", 404, `service not found: t9`},
		{"a path with a similar prefix", "GET", "/proxying", user, "", 404, `not found: `},
		{"a generic task", "POST", "/api/v1/generic-tasks", user, `{"config": "entrypoint: x", "contextDirectory": [], "noPause": false}`, 200, `{"taskId":"g1","warnings":[]}`},
		{"a generic task without a configuration", "POST", "/api/v1/generic-tasks", user, "{}", 400, `config: must be set`},
		{"a generic task in no project", "POST", "/api/v1/generic-tasks", user, `{"config": "entrypoint: x", "projectId": 99}`, 404, `project`},
		{"a pause", "POST", "/api/v1/tasks/g1/pause", user, "", 200, `{}`},
		{"a pause of no task", "POST", "/api/v1/tasks/g9/pause", user, "", 404, `generic task 'g9' not found`},
		{"an end", "POST", "/api/v1/tasks/g1/kill", user, `{"taskId": "g1", "killFromRoot": true}`, 200, `{}`},
		{"the configuration of a generic task", "GET", "/api/v1/tasks/g1/config", user, "", 200, `{"config":"{}"}`},
		{"deleted lines", "POST", "/api/v1/cleanup_logs", w.admin, "", 200, `{"removedCount":"42"}`},
		{"a call that is planned", "POST", "/api/v1/webhooks", user, "{}", 501, `it may come in a later version`},
		{"a call of Enterprise", "GET", "/api/v1/roles/1", user, "", 501, `it is part of Determined Enterprise`},
		{"an unknown call", "GET", "/api/v1/xyz", user, "", 501, `is not built in this version of det-deploy"`},
		{"a wrong method is not built", "DELETE", "/api/v1/me", user, "", 501, `"code":12`},
		{"an unknown path", "GET", "/nowhere", "", "", 404, `{"message":"not found: /nowhere"}`},
		{"logs from elsewhere need a token", "POST", "/task-logs", "", "[]", 401, `"code":16`},
		{"logs from elsewhere are a list", "POST", "/task-logs", user, `[{"task_id":"t1","timestamp":"2026-01-02T03:04:05.678901+00:00","rank":"0","log":"hi\n"}]`, 200, `{}`},
		{"no logs from elsewhere", "POST", "/task-logs", user, "[]", 400, `must not be empty`},
		{"invalid logs from outside", "POST", "/task-logs", user, `{"a":1}`, 400, `invalid request body`},
		{"logs from elsewhere of two tasks", "POST", "/task-logs", user, `[{"task_id":"t1"},{"task_id":"t2"}]`, 400, `must belong to one task`},
		{"profilers report metrics", "POST", "/api/v1/trials/profiler/metrics", user, `{}`, 501, `read them with trials/metrics/trial_metrics`},
		{"profiles are metrics", "GET", "/api/v1/trials/7/profiler/available_series", user, "", 501, `read them with trials/metrics/trial_metrics`},
		{"missing token", "GET", "/api/v1/me", "", "", 401, `{"error":{"code":16,"reason":"Unauthenticated"`},
		{"a wrong token is refused", "GET", "/api/v1/me", "dduser1_WRONG", "", 401, `"code":16`},
		{"a task is its owner", "GET", "/api/v1/me", task, "", 200, `"username":"determined"`},
		{"a task may not do what users do", "GET", "/api/v1/users", task, "", 403, `DET_USER_TOKEN`},
		{"a user is no task", "POST", "/api/v1/allocations/t1.1/ready", user, "", 403, `only the allocation itself`},
		{"a task may not speak for another", "POST", "/api/v1/allocations/t2.1/ready", task, "", 403, `"code":7`},
		{"a task speaks for itself", "POST", "/api/v1/allocations/t1.1/ready", task, "", 200, `{}`},
		{"null is unset", "POST", "/api/v1/auth/login", "", `{"username":"admin","password":null}`, 401, "invalid credentials"},
		{"login", "POST", "/api/v1/auth/login", "", `{"username":"admin","password":"Initial-1234"}`, 200, `"token":"dduser1_`},
		{"an empty body is an empty message", "POST", "/api/v1/agents/a/disable", admin, "", 200, `"draining":false`},
		{"drain", "POST", "/api/v1/agents/a/disable", admin, `{"drain":true}`, 200, `"draining":true`},
		{"only administrators switch agents off", "POST", "/api/v1/agents/a/disable", user, "", 403, `"code":7`},
		{"a missing agent is named", "POST", "/api/v1/agents/x/enable", admin, "", 404, `"error":"agent 'x' not found"`},
		{"path parameters are decoded", "GET", "/api/v1/agents/b%2Fc", user, "", 200, `"id":"b/c"`},
		{"an agent's credential is withdrawn", "POST", "/api/v1/agents/gone/revoke", admin, "", 200, `{}`},
		{"but not by everybody", "POST", "/api/v1/agents/a/revoke", user, "", 403, `"code":7`},
		{"keys are rotated", "POST", "/api/v1/master/rotate-keys", admin, "", 200, `{}`},
		{"slots by number", "POST", "/api/v1/agents/a/slots/7/disable", admin, "", 200, `"id":"7"`},
		{"slots by key", "POST", "/api/v1/agents/a/slots/007/enable", admin, "", 200, `"id":"7"`},
		{"a missing slot is named", "POST", "/api/v1/agents/a/slots/8/enable", admin, "", 404, `slot '8' not found`},
		{"agents without their slots", "GET", "/api/v1/agents?excludeSlots=true", user, "", 200, `"slots":{}`},
		{"not JSON", "POST", "/api/v1/commands", user, "{", 400, `"code":3`},
		{"not an object", "POST", "/api/v1/commands", user, "[]", 400, `"code":3`},
		{"launch", "POST", "/api/v1/commands", user, launch(`"workspaceId":1`), 200, `"entrypoint":["ls"]`},
		{"both spellings, unknown fields, numbers as text", "POST", "/api/v1/commands", user, launch(`"template_name":null,"workspace_id":"1","nonsense":[1],"files":[{"path":"a","mtime":"12","content":"AQI=","mode":420}]`), 200, `"username":"determined"`},
		{"a missing command", "GET", "/api/v1/commands/x", user, "", 404, `{"error":{"code":5,"reason":"NotFound","error":"command 'x' not found"}}`},
		{"commands of a user", "GET", "/api/v1/commands?users=admin", user, "", 200, `"total":1`},
		{"commands of no workspace", "GET", "/api/v1/commands?workspaceId=9", user, "", 404, `workspace '9' not found`},
		{"a page", "GET", "/api/v1/users?offset=1&limit=1", user, "", 200, `"pagination":{"offset":1,"limit":1,"startIndex":1,"endIndex":2,"total":2}`},
		{"a page from the end", "GET", "/api/v1/users?offset=-1", user, "", 200, `"startIndex":1,"endIndex":2,"total":2`},
		{"a page behind the end", "GET", "/api/v1/users?offset=9", user, "", 200, `"startIndex":2,"endIndex":2,"total":2`},
		{"no limit", "GET", "/api/v1/users?limit=-1", user, "", 200, `"startIndex":0,"endIndex":2,"total":2`},
		{"the number alone", "GET", "/api/v1/users?limit=-2", user, "", 200, `"startIndex":0,"endIndex":0,"total":2`},
		{"an invalid limit", "GET", "/api/v1/users?limit=-3", user, "", 400, "limit: must be -2 or more"},
		{"a log without a limit", "GET", "/api/v1/tasks/t1/logs?limit=-1", user, "", 200, `{"result":{"id":"1"`},
		{"a log with an invalid limit", "GET", "/api/v1/tasks/t1/logs?limit=-2", user, "", 400, "limit: must be -1 or more"},
		{"an offset that is no number", "GET", "/api/v1/users?offset=x", user, "", 400, "offset: must be a whole number"},
		{"order", "GET", "/api/v1/users?sort_by=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC&limit=1", user, "", 200, `"username":"determined"`},
		{"an unknown order", "GET", "/api/v1/users?sortBy=SORT_BY_LUCK", user, "", 400, "sortBy: must be one of SORT_BY_ACTIVE"},
		{"active users", "GET", "/api/v1/users?active=false", user, "", 200, `"users":[]`},
		{"a user by name", "GET", "/api/v1/users/ADMIN/by-username", user, "", 200, `"id":1`},
		{"a user by id", "GET", "/api/v1/users/2", user, "", 200, `"lastAuthAt":"20`},
		{"a user with an odd id", "GET", "/api/v1/users/x", user, "", 404, "user 'x' not found"},
		{"others create no users", "POST", "/api/v1/users", user, `{"user":{"username":"x"}}`, 403, `"code":7`},
		{"a weak password", "POST", "/api/v1/users", admin, `{"user":{"username":"x"},"password":"x"}`, 400, "8 characters"},
		{"the master's configuration", "GET", "/api/v1/master/config", admin, "", 200, `"type":"agent"`},
		{"is not for everybody", "GET", "/api/v1/master/config", user, "", 403, `"code":7`},
		{"pools", "GET", "/api/v1/resource-pools", user, "", 200, `"schedulerType":"SCHEDULER_TYPE_PRIORITY"`},
		{"jobs", "GET", "/api/v1/job-queues-v2?limit=100&offset=0&orderBy=ORDER_BY_ASC", user, "", 200, `"limited":null`},
		{"jobs of an unknown pool", "GET", "/api/v1/job-queues-v2?resourcePool=x", user, "", 404, "resource pool 'x' not found"},
		{"queue stats", "GET", "/api/v1/job-queues/stats", user, "", 200, `"queuedCount":0`},
		{"a job is changed", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"j1","priority":5}]}`, 200, `{}`},
		{"a job's limit is taken away", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"j1","maxSlots":0}]}`, 200, `{}`},
		{"a job's limit arrives", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"j1","max_slots":1001}]}`, 400, "max_slots: 1001 arrived"},
		{"a limit below nothing", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"j1","maxSlots":-1}]}`, 400, "maxSlots: must be 0"},
		{"a log is taken up again", "GET", "/api/v1/tasks/t1/logs?afterId=0", user, "", 200, `{"result":{"id":"1"`},
		{"behind no line", "GET", "/api/v1/tasks/t1/logs?afterId=x", user, "", 400, "afterId: must be the ID of a line"},
		{"before no line", "GET", "/api/v1/tasks/t1/logs?beforeId=0", user, "", 400, "beforeId: must be the ID of a line behind the first one"},
		{"the audit log, newest first and followed", "GET", "/api/v1/audit?orderBy=ORDER_BY_DESC&follow=true", admin, "", 400, "ORDER_BY_DESC cannot be combined with follow"},
		{"a missing job", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"x","weight":2}]}`, 404, "job 'x' not found"},
		{"a change of nothing", "POST", "/api/v1/job-queues", user, `{"updates":[{"jobId":"j1"}]}`, 400, "must be set"},
		{"tasks, from the root", "GET", "/tasks", user, "", 200, `{"t1.1":{"task_id":"t1","allocation_id":"t1.1"`},
		{"tasks, from the root, without a token", "GET", "/tasks", "", "", 401, "missing token"},
		{"Enterprise's paths are those of the open-source edition", "GET", "/oauth2/clients", admin, "", 404, `it is part of Determined Enterprise`},
		{"single sign-on, too", "GET", "/saml/sso", "", "", 404, `it is part of Determined Enterprise`},
		{"tasks", "GET", "/api/v1/tasks", user, "", 200, `"allocationIdToSummary":{"t1.1":{`},
		{"a running task has no end", "GET", "/api/v1/tasks/t1", user, "", 200, `"endTime":null`},
		{"its files, for itself", "GET", "/api/v1/tasks/t1/context_directory", task, "", 200, `"b64Tgz":"AQIDBAU="`},
		{"not those of another", "GET", "/api/v1/tasks/t2/context_directory", task, "", 403, `"code":7`},
		{"lines", "POST", "/api/v1/task/logs", task, `{"logs":[{"task_id":"t1","level":"ERROR","log":"x\n","timestamp":"2026-01-02T03:04:05.678901Z"}]}`, 200, `{}`},
		{"no lines", "POST", "/api/v1/task/logs", task, `{"logs":[]}`, 400, "must not be empty"},
		{"lines with an id", "POST", "/api/v1/task/logs", task, `{"logs":[{"id":1,"taskId":"t1"}]}`, 400, "id must not be set"},
		{"lines of two tasks", "POST", "/api/v1/task/logs", task, `{"logs":[{"taskId":"t1"},{"taskId":"t2"}]}`, 400, "one task"},
		{"lines of another task", "POST", "/api/v1/task/logs", task, `{"logs":[{"taskId":"t2"}]}`, 403, `"code":7`},
		{"the log of a task", "GET", "/api/v1/tasks/t1/logs", user, "", 200, `"taskId":"t1","agentId":"a","log":"line\n"`},
		{"follow with a limit", "GET", "/api/v1/tasks/t1/logs?follow=true&limit=1", user, "", 400, `{"error":{"grpc_code":3,"http_code":400,"message":"follow cannot be combined with limit`},
		{"the log of a missing task", "GET", "/api/v1/tasks/x/logs", user, "", 404, `{"error":{"grpc_code":5,"http_code":404,"message":"task 'x' not found","http_status":"Not Found"}}`},
		{"an unknown level", "GET", "/api/v1/tasks/t1/logs?levels=LOUD", user, "", 400, "levels: must be"},
		{"log fields", "GET", "/api/v1/tasks/t1/logs/fields", user, "", 200, `{"result":{"agentIds":["a"]`},
		{"log fields, followed", "GET", "/api/v1/tasks/t1/logs/fields?follow=true", user, "", 200, `{"result":{"agentIds":["a","b"]`},
		{"the only workspace", "GET", "/api/v1/workspaces?nameCaseSensitive=Uncategorized", user, "", 200, `"id":1`},
		{"no other workspace", "GET", "/api/v1/workspaces?nameCaseSensitive=x", user, "", 200, `"workspaces":[]`},
		{"workspace 1", "GET", "/api/v1/workspaces/1", user, "", 200, `"name":"Uncategorized"`},
		{"workspace 2", "GET", "/api/v1/workspaces/2", user, "", 404, "workspace '2' not found"},
		{"a signal at once", "GET", "/api/v1/allocations/t1.1/signals/preemption?timeout_seconds=0", task, "", 200, `{"preempt":false}`},
		{"where the others are", "GET", "/api/v1/allocations/t1.1/resources/c1/rendezvous", task, "", 200, `{"rendezvousInfo":{"addresses":["10.0.0.1"],"rank":1,"slots":[8]}}`},
		{"a container of another", "GET", "/api/v1/allocations/t1.1/resources/c9/rendezvous", task, "", 404, "resources 'c9' not found"},
		{"another's rendezvous", "GET", "/api/v1/allocations/t2.1/resources/c1/rendezvous", task, "", 403, `"code":7`},
		{"a daemon", "POST", "/api/v1/allocations/t1.1/resources/c1/daemon", task, "", 200, `{}`},
		{"another's daemon", "POST", "/api/v1/allocations/t1.1/resources/c9/daemon", task, "", 404, "resources 'c9' not found"},
		{"what all have", "POST", "/api/v1/allocations/t1.1/all_gather", task, `{"allocationId":"t1.1","requestUuid":"u","numPeers":1,"data":{"rank":0}}`, 200, `{"data":[{"rank":0},{}]}`},
		{"that they run", "POST", "/api/v1/allocations/t1.1/notify_container_running", task, `{"requestUuid":"u","numPeers":1,"nodeName":"n","rank":0,"data":{}}`, 200, `{"data":[{}]}`},
		{"its address", "POST", "/api/v1/allocations/t1.1/proxy_address", task, `{"proxyAddress":"10.0.0.1"}`, 200, `{}`},
		{"an allocation", "GET", "/api/v1/allocations/t1.1", user, "", 200, `"allocationId":"t1.1"`},
		{"no allocation", "GET", "/api/v1/allocations/t9.1", user, "", 404, "allocation 't9.1' not found"},
		{"its acknowledgement", "POST", "/api/v1/allocations/t1.1/signals/ack_preemption", task, "", 200, `{}`},
		{"a wish for one", "POST", "/api/v1/allocations/t1.1/signals/pending_preemption", user, "", 200, `{}`},
		{"a wish of the task's own", "POST", "/api/v1/allocations/t1.1/signals/pending_preemption", task, "", 403, `"code":7`},
		{"a wish for nothing", "POST", "/api/v1/allocations/t9.1/signals/pending_preemption", user, "", 404, "allocation 't9.1' not found"},
		{"accelerators", "POST", "/api/v1/allocations/t1.1/acceleratorData", task, `{"acceleratorData":{"containerId":"c"}}`, 200, `{}`},
		{"metrics", "GET", "/metrics", "", "", 200, "det_deploy_http_request_seconds_bucket"},
		{"metrics of the cluster", "GET", "/metrics", "", "", 200, `det_deploy_agents{state="enabled"} 1`},
		{"agents that are sick", "GET", "/metrics", "", "", 200, `det_deploy_sick_agents{lack="disk"} 1`},
		{"agents that lack nothing else", "GET", "/metrics", "", "", 200, `det_deploy_sick_agents{lack="engine"} 0`},
		{"metrics where they used to be", "GET", "/debug/prom/metrics", "", "", 200, "go_goroutines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := w.ask(t, tt.method, tt.path, tt.who, tt.body)
			if rec.Code != tt.code || !strings.Contains(squeeze(rec.Body.String()), tt.want) {
				t.Errorf("got %d %s\nwant %d with %s", rec.Code, rec.Body, tt.code, tt.want)
			}
			if strings.HasPrefix(tt.path, "/api") && !strings.Contains(tt.path, "logs") && !json.Valid(rec.Body.Bytes()) {
				t.Errorf("got no JSON: %s", rec.Body)
			}
		})
	}
}

func TestErrorKindsSurviveRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"a task that can never run", &rm.Unfulfillable{Pool: "p", Slots: 9, Reason: "it has 8"}, 400, "request unfulfillable"},
		{"an unknown pool", fmt.Errorf("launch: %w", rm.ErrUnknownPool), 404, `"code":5`},
		{"a bug", fmt.Errorf("index out of range"), 500, `"reason":"Internal"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cluster.fail = tt.err
			rec := w.ask(t, "POST", "/api/v1/commands", w.user, "{}")
			if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d with %s", rec.Code, rec.Body, tt.code, tt.want)
			}
		})
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.ask(t, "POST", "/api/v1/auth/login", "", `{"username":"admin","password":"Initial-1234"}`)
	cookie := rec.Result().Cookies()[0]
	if cookie.Name != "auth" || cookie.Path != "/" || !cookie.HttpOnly {
		t.Errorf("got %v, want the cookie auth for /", cookie)
	}
	ask := func(method, path, site, csrf string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.AddCookie(cookie)
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("X-CSRF-Token", csrf)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		return rec.Code
	}
	csrf := CSRFToken(cookie.Value)
	for name, row := range map[string]struct {
		method, path, site, csrf string
		want                     int
	}{
		"a page of the master reads":           {"GET", "/api/v1/me", "same-origin", csrf, 200},
		"a page of a service reads":            {"GET", "/api/v1/me", "same-origin", "", 403},
		"a page of a service guesses":          {"GET", "/api/v1/me", "same-origin", CSRFToken("x"), 403},
		"a page of a service changes":          {"POST", "/api/v1/agents/a/disable", "same-origin", "", 403},
		"a form of another site":               {"POST", "/api/v1/agents/a/disable", "cross-site", csrf, 403},
		"a browser visits a file":              {"GET", "/resources/allocation/raw?timestamp_after=2026-01-01T00:00:00Z&timestamp_before=2026-01-02T00:00:00Z", "none", "", 200},
		"a browser visits the API's own files": {"GET", "/api/v1/resources/allocation/raw", "none", "", 403},
	} {
		if got := ask(row.method, row.path, row.site, row.csrf); got != row.want {
			t.Errorf("%s: got %d, want %d", name, got, row.want)
		}
	}
	if got := ask("POST", "/api/v1/auth/logout", "same-origin", csrf); got != http.StatusOK {
		t.Errorf("logging out: got %d, want 200", got)
	}
	if got := ask("GET", "/api/v1/me", "none", csrf); got != http.StatusUnauthorized {
		t.Errorf("after logging out: got %d, want 401", got)
	}
}

func TestCookiesAreIgnoredWhereTheyMayBePlanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, row := range map[string]struct {
		host   string
		values []string
		want   int
	}{
		"one cookie":                   {"det.example.com", []string{w.user}, 200},
		"two cookies":                  {"det.example.com", []string{w.user, w.admin}, 401},
		"at the host name of services": {"services.example.com", []string{w.user}, 401},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+row.host+"/api/v1/me", nil)
		for _, value := range row.values {
			r.AddCookie(&http.Cookie{Name: "auth", Value: value})
		}
		r.Header.Set("X-CSRF-Token", CSRFToken(w.user))
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if rec.Code != row.want {
			t.Errorf("%s: got %d, want %d", name, rec.Code, row.want)
		}
	}
}

// remake replaces the server by one with a changed configuration.
func (w *world) remake(t testing.TB, change func(*Config)) {
	t.Helper()
	cfg := w.cfg
	cfg.Metrics = nil
	change(&cfg)
	var err error
	if w.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
}

func TestMetricsCanBeHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remake(t, func(c *Config) { c.HideMetrics = true })
	for _, path := range []string{"/metrics", "/debug/prom/metrics"} {
		if rec := w.ask(t, "GET", path, "", ""); rec.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, rec.Code)
		}
	}
}

func TestCallsFromOtherSites(t *testing.T) {
	t.Parallel()
	const site = "https://portal.example.com"
	tests := []struct {
		name, origin string
		cookie       bool
		method       string
		code         int
		allow        string
	}{
		{"a preflight of a listed site is answered", site, false, http.MethodOptions, 204, site},
		{"a listed site calls with a token", site, false, http.MethodPost, 200, site},
		{"a listed site's call with a cookie is refused", site, true, http.MethodPost, 403, site},
		{"another site's call with a cookie is refused", "https://other.example", true, http.MethodPost, 403, ""},
		{"another site's read with a cookie is refused", "https://other.example", true, http.MethodGet, 403, ""},
		{"a page without an origin reads nothing with a cookie", "null", true, http.MethodGet, 403, ""},
		{"another site's call allows nothing", "https://other.example", false, http.MethodPost, 200, ""},
		{"another site's preflight allows nothing", "https://other.example", false, http.MethodOptions, 501, ""},
		{"a page with an opaque origin", "null", false, http.MethodPost, 200, ""},
		{"the same name with another scheme is another site", "http://portal.example.com", false, http.MethodPost, 200, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.remake(t, func(c *Config) { c.CORSOrigins = []string{site} })
			path := "/api/v1/agents/a/enable"
			if tt.method == http.MethodGet {
				path = "/api/v1/agents"
			}
			r := httptest.NewRequestWithContext(t.Context(), tt.method, path, nil)
			r.Header.Set("Origin", tt.origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			if tt.cookie {
				r.AddCookie(&http.Cookie{Name: "auth", Value: w.admin})
			} else {
				r.Header.Set("Authorization", "Bearer "+w.admin)
			}
			rec := httptest.NewRecorder()
			w.handler.ServeHTTP(rec, r)
			if got := rec.Header().Get("Access-Control-Allow-Credentials"); got != "" {
				t.Errorf("got credentials %q allowed, want none", got)
			}
			if got := rec.Header().Get("Access-Control-Allow-Origin"); rec.Code != tt.code || got != tt.allow {
				t.Errorf("got %d for %q, want %d for %q", rec.Code, got, tt.code, tt.allow)
			}
		})
	}
}

func TestOversizedBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	big := func(n int) string { return `{"data":"` + strings.Repeat("A", n) + `"}` }
	if rec := w.ask(t, "PATCH", "/api/v1/users/1", w.admin, big(small)); rec.Code != 413 || !strings.Contains(rec.Body.String(), "larger than 1048576 bytes") {
		t.Errorf("got %d %s, want 413", rec.Code, rec.Body)
	}
	if testing.Short() {
		t.Skip("128 MiB are not sent in short tests")
	}
	files := `{"files":[{"path":"a","type":48,"content":"` + strings.Repeat("A", 120<<20) + `"}]}`
	if rec := w.ask(t, "POST", "/api/v1/commands", w.user, files); rec.Code != 200 {
		t.Errorf("120 MiB of files: got %d %.200s, want 200", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "POST", "/api/v1/commands", w.user, big(40<<20)); rec.Code != 400 || !strings.Contains(rec.Body.String(), "outside of file contents") {
		t.Errorf("40 MiB beside files: got %d %.200s, want 400", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "POST", "/api/v1/commands", w.user, big(large)); rec.Code != 413 {
		t.Errorf("above the limit: got %d, want 413", rec.Code)
	}
}

func TestMasterLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := slog.New(w.ring).With("pool", "gpu")
	for i := range 5 {
		log.WithGroup("g").Warn("something happened", "n", i)
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"", []string{"something happened pool=gpu g.n=2", "g.n=3", "g.n=4"}},
		{"?offset=-1", []string{"g.n=4"}},
		{"?offset=-99", []string{"g.n=2", "g.n=3", "g.n=4"}},
		{"?offset=3&limit=1", []string{`"id":3`}},
		{"?offset=99", nil},
		{"?afterId=3&offset=-3", []string{"g.n=4"}},
		{"?afterId=4", nil},
		{"?afterId=77", []string{"g.n=2", "g.n=3", "g.n=4"}}, // an ID of an earlier master
	}
	for _, tt := range tests {
		rec := w.ask(t, "GET", "/api/v1/master/logs"+tt.query, w.admin, "")
		got := strings.FieldsFunc(rec.Body.String(), func(r rune) bool { return r == '\n' })
		if rec.Code != 200 || len(got) != len(tt.want) {
			t.Fatalf("%s: got %d %q, want %d lines", tt.query, rec.Code, got, len(tt.want))
		}
		for i := range got {
			if !strings.Contains(squeeze(got[i]), tt.want[i]) || !strings.Contains(got[i], "LOG_LEVEL_WARNING") {
				t.Errorf("%s: got %q, want %q", tt.query, got[i], tt.want[i])
			}
		}
	}
}

// Only administrators read the log; others get one line in its place, or an error if they ask for a part.
func TestMasterLogIsForAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slog.New(w.ring).Warn("a secret")
	rec := w.ask(t, "GET", "/api/v1/master/logs", w.user, "")
	if got := rec.Body.String(); rec.Code != 200 || strings.Count(got, "\n") != 1 || !strings.Contains(got, "only administrators may read") {
		t.Errorf("got %d %q, want one line", rec.Code, got)
	}
	for _, query := range []string{"?follow=false", "?offset=-1"} {
		if rec := w.ask(t, "GET", "/api/v1/master/logs"+query, w.user, ""); rec.Code != 403 {
			t.Errorf("%s: got %d %s, want an error", query, rec.Code, rec.Body)
		}
	}
}

func BenchmarkAuthenticatedReads(b *testing.B) {
	w := newWorld(b)
	hs := w.serve(b)
	for _, path := range []string{"me", "agents"} {
		b.Run(path, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			defer client.CloseIdleConnections()
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := read(b, client, hs.URL+"/api/v1/"+path, w.user); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		})
	}
}

func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.ask(t, "GET", "/info", "", "").Header().Get("Strict-Transport-Security"); got != "" {
		t.Errorf("without TLS: got %q, want nothing", got)
	}
	w.remake(t, func(c *Config) { c.Certificate = noCertificate{} })
	if got := w.ask(t, "GET", "/info", "", "").Header().Get("Strict-Transport-Security"); got == "" {
		t.Error("with TLS: got nothing, want the header")
	}
}

// noCertificate is a certificate source for tests that make no TLS connection.
type noCertificate struct{}

func (noCertificate) Certificate() (*tls.Certificate, error) { return nil, errors.New("there is none") }
