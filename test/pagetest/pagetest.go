// Package pagetest serves web pages for tests on an API whose responses are fixed.
package pagetest

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// Now is the time of all visits.
var Now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Site is a site whose visitor is logged in.
type Site struct {
	t    *testing.T
	site *ui.Site

	mu   sync.Mutex // guards sent
	sent []string
}

// API has the responses of the API by pattern, such as "GET /api/v1/agents": JSON, or after a number and a
// space those with another status. The visitor is user 2, "alice", unless there is one for "GET /api/v1/me".
type API map[string]string

// New returns a site with the pages.
func New(t *testing.T, pages []ui.Page, api API) *Site {
	t.Helper()
	s := &Site{t: t}
	mux := http.NewServeMux()
	if api["GET /api/v1/me"] == "" {
		mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"user": {"id": 2, "username": "alice", "active": true}}`)
		})
	}
	for pattern, body := range api {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, body) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, `404 {"message": "`+r.Method+" "+r.URL.Path+` not found"}`)
	})
	s.site = ui.New(ui.Config{
		API: mux, CSRFToken: func(session string) string { return "token of " + session }, SessionCookie: func(string) string { return "det_session" }, Cluster: "test",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return Now },
	}, pages)
	return s
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, body string) {
	raw, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodGet {
		s.mu.Lock()
		s.sent = append(s.sent, r.Method+" "+r.URL.RequestURI()+" "+strings.Join(strings.Fields(string(raw)), ""))
		s.mu.Unlock()
	}
	var status int
	if n, _ := fmt.Sscanf(body, "%d ", &status); n == 1 {
		w.WriteHeader(status)
		body = body[4:]
	}
	fmt.Fprint(w, body)
}

// Sent returns the calls of the API that change something, as "POST /api/v1/x {}", since the last time.
func (s *Site) Sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// Get opens a page and fails the test if its status is not the given one.
func (s *Site) Get(path string, status int) string {
	s.t.Helper()
	return s.Open(path, status).Body.String()
}

// Open is Get with the whole response.
func (s *Site) Open(path string, status int) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.visit(httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, path, nil), status)
}

// Post sends a form with the CSRF token, and fails the test if the status is not the given one. It returns the
// response.
func (s *Site) Post(path string, form url.Values, status int) *httptest.ResponseRecorder {
	s.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	form.Set("csrf", "token of secret")
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.visit(r, status)
}

func (s *Site) visit(r *http.Request, status int) *httptest.ResponseRecorder {
	s.t.Helper()
	r.AddCookie(&http.Cookie{Name: "det_session", Value: "secret"})
	rec := httptest.NewRecorder()
	s.site.ServeHTTP(rec, r)
	if rec.Code != status {
		s.t.Errorf("%s %s: got status %d, want %d:\n%s", r.Method, r.URL, rec.Code, status, content(rec.Body.String()))
	}
	return rec
}

// WantTexts fails the test unless a page has all texts.
func (s *Site) WantTexts(page string, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			s.t.Errorf("the page does not have %q:\n%s", text, content(page))
		}
	}
}

// WantNone fails the test if a page has one of the texts.
func (s *Site) WantNone(page string, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			s.t.Errorf("the page has %q:\n%s", text, content(page))
		}
	}
}

// content returns the part of a page below its navigation.
func content(page string) string {
	if _, below, found := strings.Cut(page, "<main"); found {
		return below
	}
	return page
}
