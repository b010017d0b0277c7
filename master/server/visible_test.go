package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestSecretsOfOthers reads everything that other users may read.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.furnish(t)
	w.someUser(t, "ada")
	owner, other, read := w.user, w.login(t, "ada"), 0
	for _, r := range w.routes() {
		if r.method != http.MethodGet || r.socket {
			continue
		}
		rec := w.ask(t, r.method, w.fill(r), other, "")
		if strings.Contains(rec.Body.String(), "hunter2") {
			t.Errorf("GET %s: got %s, want no secrets of the owner", r.path, rec.Body)
		}
		if rec := w.ask(t, r.method, w.fill(r), owner, ""); strings.Contains(rec.Body.String(), "hunter2") {
			read++
		}
	}
	if read < 5 {
		t.Errorf("the owner reads the secrets in %d calls, want more", read)
	}
}
