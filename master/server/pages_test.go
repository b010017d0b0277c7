package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/proxy"
)

// newPages returns a world whose pages show the path of the request, and the user by whom the API is called.
func newPages(t *testing.T) *world {
	return newWorld(t, func(c *Config) {
		c.CORSOrigins = []string{"https://other.example"}
		c.Pages = func(api http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				call := httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/api/v1/me", nil)
				call.Header.Set("Authorization", "Bearer "+r.URL.Query().Get("token"))
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, call)
				fmt.Fprintf(w, "page %s: %d", r.URL.Path, rec.Code)
			})
		}
	})
}

func TestTheAddressOfTheMasterOpensThePages(t *testing.T) {
	t.Parallel()
	w := newPages(t)
	if r := w.ask(t, http.MethodGet, "/", "", ""); r.Code != http.StatusFound || r.Header().Get("Location") != "/det/" {
		t.Errorf("got %d to %q", r.Code, r.Header().Get("Location"))
	}
	if got := w.ask(t, http.MethodGet, "/det/a/b?token="+w.user, "", "").Body.String(); got != "page /det/a/b: 200" {
		t.Errorf("got %q", got)
	}
	if got := w.ask(t, http.MethodGet, "/det/", "", "").Body.String(); got != "page /det/: 401" {
		t.Errorf("got %q without a session", got)
	}
	if r := newWorld(t).ask(t, http.MethodGet, "/det/", "", ""); r.Code != http.StatusNotFound {
		t.Errorf("got %d for the pages of a master without any", r.Code)
	}
}

// Pages of tasks at the host name of services could use the session of a login there.
func TestPagesAreNotAtTheHostNamesOfServices(t *testing.T) {
	t.Parallel()
	w := newPages(t)
	for _, host := range []string{"services.example.com", "SERVICES.example.com"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/det/login", nil)
		r.Host = host
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if rec.Code != http.StatusNotFound || strings.Contains(rec.Body.String(), "page") {
			t.Errorf("%s: got %d %s", host, rec.Code, rec.Body)
		}
	}
}

// A cluster of one machine has services at the address that its installer prints.
func TestPagesAreAtTheOtherNameOfThisMachine(t *testing.T) {
	t.Parallel()
	w := newPages(t)
	for origin, want := range map[string]string{
		"http://127.0.0.1:8080":   "http://localhost:8080/det/x?a=b",
		"http://localhost:8080":   "http://127.0.0.1:8080/det/x?a=b",
		"http://*.localhost:8080": "",
		"http://10.0.0.1:8080":    "",
	} {
		at, err := url.Parse(origin)
		if err != nil {
			t.Fatal(err)
		}
		w.remake(t, func(c *Config) { c.Services = proxy.New(proxy.Config{Services: w.cluster, Origin: at}) })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/det/x?a=b", nil)
		r.Host = strings.Replace(at.Host, "*", "any", 1)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if got := rec.Header().Get("Location"); got != want || strings.Contains(rec.Body.String(), "page ") {
			t.Errorf("%s: got %d to %q, want %q", origin, rec.Code, got, want)
		}
	}
}

func TestTheAPIDoesNotAcceptTheCookieOfThePages(t *testing.T) {
	t.Parallel()
	w := newPages(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/me", nil)
	r.AddCookie(&http.Cookie{Name: PagesCookie(r.Host), Value: w.user})
	r.Header.Set(csrfHeader, CSRFToken(w.user))
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("got %d, want %d", rec.Code, http.StatusUnauthorized)
	}
}

// Sites that may call the API with a token may not read pages with the cookie of a visitor.
func TestOtherSitesCannotReadPages(t *testing.T) {
	t.Parallel()
	w := newPages(t)
	for _, origin := range []string{"https://other.example", "https://evil.example"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/det/", nil)
		r.Header.Set("Origin", origin)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: got %v", origin, rec.Header())
		}
	}
}

func TestEachPortHasItsCookie(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"localhost:8080": "det_session_8080", "[::1]:8081": "det_session_8081", "det.example.com": "det_session", "": "det_session", "a:b;c": "det_session",
	} {
		if got := PagesCookie(at); got != want {
			t.Errorf("%q: got %s, want %s", at, got, want)
		}
	}
}
