package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// An engine that stops ends the logs that it sends. They are not complete while their container runs.
func TestALogThatEndsBeforeItsContainerIsNotComplete(t *testing.T) {
	t.Parallel()
	state := `{"Status": "running", "Running": true}`
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/containers/det-deploy-c/logs"):
			_, _ = w.Write(frame(1, "one\n"))
		case strings.HasSuffix(r.URL.Path, "/containers/det-deploy-c/json"):
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"Id": "c", "State": ` + state + `}`))
		default:
			t.Errorf("got %s %s, want no other call", r.Method, r.URL)
		}
	}))
	t.Cleanup(engine.Close)
	r, err := Reach(t.Context(), Options{Host: "tcp://" + engine.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	got := ""
	read := func() error {
		got = ""
		return r.Logs(t.Context(), "c", container.Position{}, func(lines []container.Line) error {
			for _, l := range lines {
				got += string(l.Text) + "\n"
			}
			return nil
		})
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), "closed the stream early") || got != "one\n" {
		t.Errorf("while it runs: got %q, %v, want that the log is not complete", got, err)
	}
	state = `{"Status": "exited", "Running": false}`
	if err := read(); err != nil || got != "one\n" {
		t.Errorf("after its end: got %q, %v, want the whole log", got, err)
	}
}
