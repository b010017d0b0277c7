package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// site is a site with the pages of a test, on an API with one user.
type site struct {
	*Site

	sessions map[string]bool
}

var testPage = MustParse(fstest.MapFS{"a.html": {Data: []byte(
	`{{define "content"}}<form method="post">{{template "csrf" .}}</form><div id="live">{{template "live" .}}</div>{{end}}{{define "live"}}{{name .Data}}{{end}}`,
)}}, "a.html")

func sessionCookie(hostport string) string { return "det_session_" + hostport }

func newSite(t *testing.T, pages ...Page) *site {
	t.Helper()
	s := &site{sessions: map[string]bool{}}
	api := http.NewServeMux()
	api.HandleFunc("POST /api/v1/auth/login", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(b), `"alice"`) || r.RemoteAddr != "192.0.2.1:1234" {
			http.Error(w, `{"message": "invalid credentials"}`, http.StatusUnauthorized)
			return
		}
		s.sessions["secret"] = true
		fmt.Fprint(w, `{"token": "secret"}`)
	})
	api.HandleFunc("POST /api/v1/auth/logout", func(w http.ResponseWriter, r *http.Request) {
		delete(s.sessions, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		fmt.Fprint(w, `{}`)
	})
	api.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, r *http.Request) {
		if !s.sessions[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
			http.Error(w, `{"message": "log in"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"user": {"id": 2, "username": "alice"}}`)
	})
	api.HandleFunc("GET /api/v1/agents", func(http.ResponseWriter, *http.Request) { panic("a test") })
	pages = append(pages, Page{Pattern: "GET /det/{$}", Nav: "Overview", Serve: func(v *Visit) error { return v.Show(testPage, "Overview", "state") }})
	s.Site = New(Config{
		API: api, CSRFToken: func(session string) string { return "token of " + session }, SessionCookie: sessionCookie, Cluster: "test",
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}, pages)
	return s
}

// request is sent by the browser of a visitor with a session.
type request struct {
	method, path string
	form         url.Values
	header       map[string]string
	// out is set if the visitor has no session.
	out bool
}

func (s *site) do(t *testing.T, r request) *http.Response {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	req := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.form.Encode()))
	if r.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if !r.out {
		s.sessions["secret"] = true
		req.AddCookie(&http.Cookie{Name: sessionCookie(req.Host), Value: "secret"})
	}
	for k, v := range r.header {
		req.Header.Add(k, v)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestVisitorsLogInAndOut(t *testing.T) {
	s := newSite(t)
	r := s.do(t, request{path: "/det/x?y=1", out: true})
	if to := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || to != "/det/login?redirect=%2Fdet%2Fx%3Fy%3D1" {
		t.Fatalf("got %d to %q without a session", r.StatusCode, to)
	}
	form := url.Values{"username": {"bob"}, "password": {"p"}, "redirect": {"/det/x"}}
	r = s.do(t, request{method: "POST", path: "/det/login", form: form, out: true})
	if text := bodyOf(t, r); r.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "Invalid credentials.") || !strings.Contains(text, `value="bob"`) || len(r.Cookies()) > 0 {
		t.Errorf("got %d and %v, %s", r.StatusCode, r.Cookies(), text)
	}
	form.Set("username", "alice")
	r = s.do(t, request{method: "POST", path: "/det/login", form: form, out: true})
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/det/x" || len(r.Cookies()) != 1 {
		t.Fatalf("got %d to %q, %v", r.StatusCode, r.Header.Get("Location"), r.Cookies())
	}
	c := r.Cookies()[0]
	if c.Name != "det_session_example.com" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/det/" || c.Secure {
		t.Errorf("got the cookie %v", c)
	}
	r = s.do(t, request{method: "POST", path: "/det/logout", form: url.Values{"csrf": {"token of secret"}}})
	if r.StatusCode != http.StatusSeeOther || s.sessions["secret"] || r.Cookies()[0].MaxAge >= 0 {
		t.Errorf("got %d, %v after the logout", r.StatusCode, r.Cookies())
	}
}

func TestLoginContinuesOnlyAtOwnPaths(t *testing.T) {
	for _, tt := range []struct{ redirect, want string }{
		{"/det/experiments/1?tab=a", "/det/experiments/1?tab=a"},
		{"/proxy/x/", "/proxy/x/"},
		{"", "/det/"},
		{"//evil.example", "/det/"},
		{"/\\evil.example", "/det/"},
		{"/det/\\evil.example", "/det/"},
		{"/\t/evil.example", "/det/"},
		{"\t//evil.example", "/det/"},
		{"/%2f/evil.example", "/det/"},
		{"https://evil.example/det/", "/det/"},
		{"https:/det/", "/det/"},
		{"javascript:alert(1)", "/det/"},
		{"det/", "/det/"},
		{"/det/\r\nSet-Cookie: a=b", "/det/"},
	} {
		if got := OwnPath(tt.redirect); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.redirect, got, tt.want)
		}
	}
}

func TestFormsNeedTheirToken(t *testing.T) {
	acted := 0
	s := newSite(t, Page{Pattern: "POST /det/act", Serve: func(v *Visit) error {
		acted++
		return v.Done("/det/", "Done: <b>\u202e")
	}})
	good := url.Values{"csrf": {"token of secret"}}
	for _, tt := range []struct {
		name string
		request
		status, acts int
	}{
		{"no token", request{form: url.Values{}}, http.StatusForbidden, 0},
		{"another token", request{form: url.Values{"csrf": {"token of other"}}}, http.StatusForbidden, 0},
		{"token in the address", request{path: "/det/act?csrf=token+of+secret", form: url.Values{}}, http.StatusForbidden, 0},
		{"another site", request{form: good, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, http.StatusForbidden, 0},
		{"another origin", request{form: good, header: map[string]string{"Origin": "https://evil.example"}}, http.StatusForbidden, 0},
		{"no session", request{form: good, out: true}, http.StatusSeeOther, 0},
		{"two sessions", request{form: good, header: map[string]string{"Cookie": "det_session_example.com=planted"}}, http.StatusSeeOther, 0},
		{"no text", request{form: url.Values{"csrf": good["csrf"], "a": {"\xff"}}}, http.StatusBadRequest, 0},
		{"too large", request{form: url.Values{"csrf": good["csrf"], "a": {strings.Repeat("x", formLimit)}}}, http.StatusRequestEntityTooLarge, 0},
		{"the form", request{form: good}, http.StatusSeeOther, 1},
	} {
		tt.method = http.MethodPost
		if tt.path == "" {
			tt.path = "/det/act"
		}
		acted = 0
		if r := s.do(t, tt.request); r.StatusCode != tt.status || acted != tt.acts {
			t.Errorf("%s: got %d and %d actions, want %d and %d", tt.name, r.StatusCode, acted, tt.status, tt.acts)
		}
	}
	message := s.do(t, request{method: http.MethodPost, path: "/det/act", form: good}).Cookies()[0]
	r := s.do(t, request{path: "/det/", header: map[string]string{"Cookie": message.Name + "=" + message.Value}})
	if text := bodyOf(t, r); !strings.Contains(text, "Done: &lt;b&gt;\uFFFD") || r.Cookies()[0].MaxAge >= 0 {
		t.Errorf("got %v and the page %s", r.Cookies(), text)
	}
}

// A page of a task at the same host name can read pages with a script, but not the token of forms.
func TestScriptsGetNoToken(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		path   string
		header map[string]string
		want   bool
	}{
		{"/det/", nil, true},
		{"/det/", map[string]string{"Sec-Fetch-Dest": "document"}, true},
		{"/det/", map[string]string{"Sec-Fetch-Dest": "empty"}, false},
		{"/det/", map[string]string{"HX-Request": "true"}, false},
		{"/det/nothing", map[string]string{"HX-Request": "true"}, false},
		{"/det/nothing", map[string]string{"Sec-Fetch-Dest": "iframe"}, false},
	} {
		if text := bodyOf(t, s.do(t, request{path: tt.path, header: tt.header})); strings.Contains(text, "token of secret") != tt.want {
			t.Errorf("%+v: got %s", tt, text)
		}
	}
}

func TestPagesCannotBeFramedCachedOrSniffed(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/det/", "/det/login", "/det/nothing", staticAddress("style.css")} {
		h := s.do(t, request{path: path}).Header
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: got the policy %q", path, policy)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: got %v", path, h)
		}
		if kept := h.Get("Cache-Control"); (kept == "no-store") == strings.HasPrefix(path, staticPath) {
			t.Errorf("%s: got Cache-Control %q", path, kept)
		}
	}
	text := bodyOf(t, s.do(t, request{path: "/det/"}))
	for _, inline := range []string{"<script>", "style=", "onclick", "javascript:", "https://"} {
		if strings.Contains(text, inline) {
			t.Errorf("the page contains %s: %s", inline, text)
		}
	}
}

func TestUnknownAddressesAndMethods(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		request
		status int
		want   string
	}{
		{request{path: "/det/nothing/<b>\u202e"}, http.StatusNotFound, "/det/nothing/&lt;b&gt;\uFFFD"},
		{request{path: "/det/nothing", method: http.MethodPost}, http.StatusNotFound, "There is no page"},
		{request{path: "/det/", method: http.MethodDelete}, http.StatusMethodNotAllowed, "does not accept DELETE"},
		{request{path: "/det/", method: http.MethodHead}, http.StatusOK, ""},
		{request{path: "/det/nothing", out: true}, http.StatusSeeOther, ""},
		{request{path: staticPath + "0000/style.css"}, http.StatusNotFound, ""},
		{request{path: staticPath + assets["SHA256SUMS"].hash + "/SHA256SUMS"}, http.StatusNotFound, ""},
	} {
		tt.path = (&url.URL{Path: tt.path}).EscapedPath()
		r := s.do(t, tt.request)
		if text := bodyOf(t, r); r.StatusCode != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: got %d %s", tt.method, tt.path, r.StatusCode, text)
		}
	}
	if allow := s.do(t, request{path: "/det/", method: http.MethodDelete}).Header.Get("Allow"); allow != "GET, HEAD" {
		t.Errorf("got Allow %q", allow)
	}
}

func TestLiveBlocksAreSentWhenTheyChange(t *testing.T) {
	s := newSite(t)
	live := map[string]string{"HX-Request": "true"}
	r := s.do(t, request{path: "/det/", header: live})
	if text := bodyOf(t, r); text != "<bdi>state</bdi>" || r.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s", r.StatusCode, text)
	}
	live["If-None-Match"] = r.Header.Get("ETag")
	if r := s.do(t, request{path: "/det/", header: live}); r.StatusCode != http.StatusNotModified || bodyOf(t, r) != "" {
		t.Errorf("got %d for an unchanged block", r.StatusCode)
	}
	if r := s.do(t, request{path: "/det/", header: live, out: true}); r.StatusCode != http.StatusUnauthorized || r.Header.Get("HX-Refresh") != "true" {
		t.Errorf("got %d, %v after the end of the session", r.StatusCode, r.Header)
	}
}

func TestLinksOfOtherSitesOpenWithTheSession(t *testing.T) {
	s := newSite(t)
	link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
	r := s.do(t, request{path: "/det/", out: true, header: link})
	if text := bodyOf(t, r); r.StatusCode != http.StatusOK || !strings.Contains(text, `http-equiv="refresh"`) || strings.Contains(text, "<bdi>state") {
		t.Errorf("got %d %s", r.StatusCode, text)
	}
}

func TestErrorsOfTheAPIAreLoggedAndNotShown(t *testing.T) {
	s := newSite(t,
		Page{Pattern: "GET /det/panic", Serve: func(v *Visit) error { _, err := v.API.Agents(v.Context()); return err }},
		Page{Pattern: "GET /det/admin", Admin: true, Serve: func(*Visit) error { panic("not reached") }},
	)
	r := s.do(t, request{path: "/det/panic"})
	if text := bodyOf(t, r); r.StatusCode != http.StatusInternalServerError || strings.Contains(text, "a test") {
		t.Errorf("got %d %s", r.StatusCode, text)
	}
	if r := s.do(t, request{path: "/det/admin"}); r.StatusCode != http.StatusForbidden {
		t.Errorf("got %d for a page of administrators", r.StatusCode)
	}
}

func TestResponsesInProcessAreStreamed(t *testing.T) {
	next, ended := make(chan struct{}), make(chan struct{})
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		fmt.Fprint(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-next
		fmt.Fprint(w, "second")
		<-r.Context().Done()
	})
	visitor := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	out, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://master/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := inProcess{api: api, visitor: visitor, log: slog.New(slog.DiscardHandler)}.RoundTrip(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		b := make([]byte, len(want))
		if _, err := io.ReadFull(r.Body, b); err != nil || string(b) != want {
			t.Fatalf("got %q and %v, want %q", b, err, want)
		}
		if want == "first" {
			close(next)
		}
	}
	if err := r.Body.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// The API answers a visitor who has left, and must not wait for a reader.
func TestCallsOfVisitorsWhoLeaveEnd(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		_, err := io.WriteString(w, "late")
		ended <- err
	})
	ctx, leave := context.WithCancel(t.Context())
	visitor := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	out, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://master/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		leave()
	}()
	if r, err := (inProcess{api: api, visitor: visitor, log: slog.New(slog.DiscardHandler)}).RoundTrip(out); err == nil {
		t.Errorf("got %v", r)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A panic behind the header ends the response, whose status has been read.
func TestResponsesInProcessKeepTheirStatus(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		panic(http.ErrAbortHandler)
	})
	visitor := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for range 100 {
		r, err := (inProcess{api: api, visitor: visitor, log: slog.New(slog.DiscardHandler)}).RoundTrip(visitor)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r.Body); err == nil || r.StatusCode != http.StatusAccepted {
			t.Fatalf("got %d and %v", r.StatusCode, err)
		}
		_ = r.Body.Close()
	}
}

// An address must not lead the call of the API to another object, or make it fail.
func TestAddressesAreOfPages(t *testing.T) {
	s := newSite(t, Page{Pattern: "GET /det/tasks/{id}", Serve: func(v *Visit) error { return v.Show(testPage, "Task", v.PathValue("id")) }})
	for path, want := range map[string]int{
		"/det/tasks/a%2Fb": http.StatusOK, "/det/tasks/a..b": http.StatusOK, "/det/tasks/t?q=%C3%BC": http.StatusOK, "/det/tasks/t?q=%zz": http.StatusOK,
		"/det/tasks/%2e%2e": http.StatusNotFound, "/det/tasks/%2E": http.StatusNotFound, "/det/tasks/a%2F..%2Fb": http.StatusNotFound,
		"/det/tasks/%ff": http.StatusNotFound, "/det/tasks/t?p=%zz&q=%ff": http.StatusNotFound,
	} {
		if r := s.do(t, request{path: path}); r.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, r.StatusCode, want)
		}
	}
}
