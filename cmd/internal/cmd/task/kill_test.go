package task_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Calls about commands do not find tasks of other kinds, except for the one that describes a task of any kind.
func TestKillOfEndedTasks(t *testing.T) {
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
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/v1/commands/{id}", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("detail") == "" && tc.path != "commands" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprintf(w, `{"command":{"id":"%s","state":"STATE_%s","taskType":"TASK_TYPE_%s"}}`, taskID, tc.state, tc.kind)
		})
		mux.HandleFunc("POST /api/v1/"+tc.path+"/{id}/kill", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
		m := &master{Server: httptest.NewServer(mux)}
		t.Cleanup(m.Close)
		code, stdout, stderr := m.runTask(t.Context(), t, "kill", taskID)
		if code != 0 || stdout != "" || strings.TrimSpace(stderr) != tc.want {
			t.Errorf("%s, %s: got code %d, %q and %q, want %q", tc.kind, tc.state, code, stdout, stderr, tc.want)
		}
	}
}
