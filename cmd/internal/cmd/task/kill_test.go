package task_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A task is killed by the one call of its kind: others would be refused, which the audit log records.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ path, kind, state, want string }{
		{"commands", "COMMAND", "RUNNING", "Killed task " + taskID + "."},
		{"commands", "COMMAND", "TERMINATED", "Task " + taskID + " has already ended."},
		{"shells", "SHELL", "RUNNING", "Killed task " + taskID + "."},
		{"shells", "SHELL", "TERMINATED", "Task " + taskID + " has already ended."},
		{"notebooks", "NOTEBOOK", "TERMINATED", "Task " + taskID + " has already ended."},
		{"tensorboards", "TENSORBOARD", "TERMINATED", "Task " + taskID + " has already ended."},
		{"tasks", "GENERIC", "RUNNING", "Killed task " + taskID + "."},
		{"tasks", "GENERIC", "TERMINATED", "Task " + taskID + " had already ended. Its children, if any still ran, are killed."},
		{"task-arrays", "", "", "Killed 2 tasks of array " + taskID + "."},
		{"none", "", "", "get task " + taskID + ": no such task"},
	} {
		var changes []string
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/v1/commands/{id}", func(w http.ResponseWriter, _ *http.Request) {
			if tc.kind == "" {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"message":"no such task"}`)
				return
			}
			fmt.Fprintf(w, `{"command":{"id":"%s","state":"STATE_%s","taskType":"TASK_TYPE_%s"}}`, taskID, tc.state, tc.kind)
		})
		if tc.path == "task-arrays" {
			mux.HandleFunc("GET /api/v1/task-arrays/{id}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
		}
		mux.HandleFunc("POST /api/v1/{kind}/{id}/kill", func(w http.ResponseWriter, r *http.Request) {
			changes = append(changes, r.URL.Path)
			fmt.Fprint(w, `{"killed":2}`)
		})
		m := &master{Server: httptest.NewServer(mux)}
		t.Cleanup(m.Close)
		code, stdout, stderr := m.runTask(t.Context(), t, "kill", taskID)
		if stdout != "" || strings.TrimSpace(stderr) != tc.want {
			t.Errorf("%s, %s: got code %d, %q and %q, want %q", tc.path, tc.state, code, stdout, stderr, tc.want)
		}
		want := []string{"/api/v1/" + tc.path + "/" + taskID + "/kill"}
		if tc.path == "none" {
			want = nil
		}
		if !slices.Equal(changes, want) {
			t.Errorf("%s: got the calls %v, want %v", tc.path, changes, want)
		}
	}
}
