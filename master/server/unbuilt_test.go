package server

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// testdata/routes.txt lists all calls of the API of Determined 0.38.1, without the names of parameters.
// Each is implemented or answered as not implemented, never as another call.
func TestEveryCallOfDetermined(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	text, err := os.ReadFile("testdata/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for _, r := range w.routes() {
		built[r.method+" "+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.path, "{}")] = true
	}
	missing := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if built[line] {
			continue
		}
		missing++
		method, path, _ := strings.Cut(line, " ")
		path = prefix + strings.ReplaceAll(path, "{}", "1")
		rec := w.ask(t, method, path, w.admin, "{}")
		want := method + " " + path + " is not built in this version of det-deploy: "
		if rec.Code != http.StatusNotImplemented || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: got %d %s, want 501 with a reason", line, rec.Code, rec.Body)
		}
	}
	if missing == 0 || missing == strings.Count(string(text), "\n") {
		t.Errorf("%d calls are not implemented, want some", missing)
	}
}
