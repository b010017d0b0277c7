package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// unaudited lists the changing calls that are not recorded, with reasons.
var unaudited = map[string]string{
	"POST tasks/{task}/context_copies":                           "files are copied for a task that is recorded",
	"POST commands/preview":                                      "nothing is changed",
	"POST tensorboards":                                          "tasks have logs and records of their own",
	"POST generic-tasks":                                         "tasks have logs and records of their own",
	"POST shells":                                                "tasks have logs and records of their own",
	"POST notebooks":                                             "tasks have logs and records of their own",
	"POST commands":                                              "tasks have logs and records of their own",
	"POST contexts":                                              "a list of files that nothing uses yet",
	"POST contexts/{context}/pieces":                             "files that nothing uses yet",
	"POST task/logs":                                             "reports of a task",
	"POST allocations/{allocation}/ready":                        "reports of a task",
	"POST allocations/{allocation}/waiting":                      "reports of a task",
	"POST allocations/{allocation}/acceleratorData":              "reports of a task",
	"POST allocations/{allocation}/signals/ack_preemption":       "reports of a task",
	"POST allocations/{allocation}/resources/{resources}/daemon": "reports of a task",
	"POST allocations/{allocation}/all_gather":                   "reports of a task",
	"POST allocations/{allocation}/notify_container_running":     "reports of a task",
	"POST allocations/{allocation}/proxy_address":                "reports of a task",
	"POST preview-hp-search":                                     "nothing is stored",
	"POST experiments/{experiment}/file":                         "it reads one file",
	"POST trials/{trial}/progress":                               "reports of a program",
	"POST trials/{trial}/runner/metadata":                        "reports of a program",
	"POST trials/{trial}/early_exit":                             "reports of a program",
	"POST runs/start":                                            "reports of a program",
	"POST runs/{run}/metadata":                                   "reports of a program",
	"POST trials/{trial}/metrics":                                "reports of a program",
	"POST trials/{trial}/training_metrics":                       "reports of a program",
	"POST trials/{trial}/validation_metrics":                     "reports of a program",
	"POST /task-logs":                                            "reports of a program",
	"PATCH trials/{trial}":                                       "reports of a program",
	"POST trials/{trial}/start":                                  "reports of a program",
	"POST trial-source-info":                                     "reports of a program",
	"POST checkpoints":                                           "reports of a program; the record names the task",
	"POST workspaces/{workspace}/pin":                            "display settings of the user alone",
	"POST workspaces/{workspace}/unpin":                          "display settings of the user alone",
}

func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	for _, r := range w.routes() {
		name := r.method + " " + r.path
		_, exempt := unaudited[name]
		if changes := r.method != "GET" || r.access == person; changes == (r.action == "" && !exempt) {
			t.Errorf("%s: got the action %q, want one for each call that changes something or enters a task, or a reason in the table", name, r.action)
		}
	}
}

// notes records entries.
type notes struct {
	mu   sync.Mutex // guards list
	list []*apiv1.AuditEntry
}

func (n *notes) RecordEntry(_ context.Context, e *apiv1.AuditEntry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, e)
}

func (n *notes) ReadEntries(_ context.Context, q AuditQuery, send func(*apiv1.AuditEntry) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.list {
		if q.User == "" || q.User == e.GetUser() {
			if err := send(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestAuditEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := &notes{}
	w.remake(t, func(c *Config) { c.Audit = kept })
	tests := []struct {
		name              string
		method, path, who string
		body              string
		want              string // user action target outcome reason (details)
	}{
		{"a login", "POST", "auth/login", "", `{"username":"Admin","password":"` + password + `"}`, "admin login admin done  ()"},
		{"a wrong password", "POST", "auth/login", "", `{"username":"admin","password":"hunter2"}`, " login admin refused Unauthenticated ()"},
		{"a password in the wrong field", "POST", "auth/login", "", `{"username":"hunter2","password":"admin"}`, " login unknown user refused Unauthenticated ()"},
		{"an invalid body", "POST", "auth/login", "", `{"password": hunter2}`, " login  refused InvalidArgument ()"},
		{"a new user", "POST", "users", w.admin, `{"user":{"username":"ada","active":true},"password":"Hunter2-hunter2"}`, "admin user.create ada done  (admin=false active=true remote=false)"},
		{"by who may not", "POST", "users", w.user, `{"user":{"username":"eve"}}`, "determined user.create  refused PermissionDenied ()"},
		{"a password", "PATCH", "users/3", w.admin, `{"password":"Hunter2-hunter3","active":false}`, "admin user.change ada done  (password active=false)"},
		{"an agent", "POST", "agents/a/disable", w.admin, `{"drain":true}`, "admin agent.disable a done  (drain)"},
		{"an agent by a task", "POST", "agents/a/revoke", w.tools, "", "determined agent.revoke a refused PermissionDenied ()"},
		{"keys", "POST", "master/rotate-keys", w.admin, "", "admin keys.rotate  done  ()"},
		{"one's own task", "POST", "commands/t1/kill", w.tools, "", "determined task.kill t1 done  (own)"},
		{"that of another", "POST", "commands/t1/kill", w.admin, "", "admin task.kill t1 done  (of user determined)"},
		{"a queue", "POST", "job-queues", w.user, `{"updates":[{"jobId":"j1","priority":5}]}`, "determined job.change  done  (j1: priority=5)"},
		{"sessions", "POST", "users/1/sessions/none/end", w.admin, "", "admin session.end admin refused NotFound (none)"},
	}
	for _, tt := range tests { // sequentially: each checks its own entry
		kept.list = nil
		w.ask(t, tt.method, prefix+tt.path, tt.who, tt.body)
		if len(kept.list) != 1 {
			t.Errorf("%s: got %v, want one entry", tt.name, kept.list)
			continue
		}
		e := kept.list[0]
		got := fmt.Sprintf("%s %s %s %s %s (%s)", e.GetUser(), e.GetAction(), e.GetTarget(), e.GetOutcome(), e.GetReason(), e.GetDetails())
		if got != tt.want || e.GetAddress() == "" {
			t.Errorf("%s:\ngot  %s from %q\nwant %s", tt.name, got, e.GetAddress(), tt.want)
		}
		if strings.Contains(strings.ToLower(fmt.Sprint(e)), "hunter2") {
			t.Errorf("%s: got a secret in %v", tt.name, e)
		}
	}
	if rec := w.ask(t, "GET", prefix+"audit?user=admin", w.admin, ""); rec.Code != 200 || !strings.Contains(squeeze(rec.Body.String()), `"action":"session.end"`) {
		t.Errorf("got %d %s, want the entries", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "GET", prefix+"me", w.user, ""); rec.Code != 200 || len(kept.list) != 1 {
		t.Errorf("got %v, want no entry for a look", kept.list)
	}
}
