package task_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The files of another user's task are copied on the master, which a master of an earlier version cannot.
func TestRerunOfAnotherUsersTask(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"copied": `"contextId":"copied"`, "": `"config":`} {
		var launched string
		mux := http.NewServeMux()
		mux.HandleFunc("GET /api/v1/commands/{id}", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"command":{"id":"%s","userId":2},"config":{}}`, taskID)
		})
		mux.HandleFunc("GET /api/v1/tasks/{id}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"contextId":"original"}`) })
		mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"user":{"id":1}}`) })
		mux.HandleFunc("GET /api/v1/tasks/{id}/context_directory", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"b64Tgz":""}`) })
		if name != "" {
			mux.HandleFunc("POST /api/v1/tasks/{id}/context_copies", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"contextId":"%s"}`, name) })
		}
		mux.HandleFunc("POST /api/v1/commands", func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			launched = strings.ReplaceAll(string(b), " ", "")
			fmt.Fprint(w, `{"command":{"id":"new"}}`)
		})
		m := &master{Server: httptest.NewServer(mux)}
		t.Cleanup(m.Close)
		code, stdout, stderr := m.runTask(t.Context(), t, "rerun", "--detach", taskID)
		if code != 0 || stdout != "new\n" || !strings.Contains(launched, want) || strings.Contains(launched, "original") {
			t.Errorf("%q: got code %d, %q, %q and the request %s", name, code, stdout, stderr, launched)
		}
	}
}
