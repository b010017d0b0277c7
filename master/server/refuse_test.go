package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPanicFailsOnlyItsCallAndIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	h := w.gatekeeper.guarded(getRoute("me", open, endpoint{serve: func(*call) error { panic("no such map") }}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/me", nil))
	if rec.Code != http.StatusInternalServerError || strings.Contains(rec.Body.String(), "no such map") {
		t.Errorf("got %d %s, want an error that keeps the place to itself", rec.Code, rec.Body)
	}
	if text := log.String(); !strings.Contains(text, "no such map") || !strings.Contains(text, "refuse_test.go") {
		t.Errorf("got %s, want the panic with its place", text)
	}
}
