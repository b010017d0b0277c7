package pages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/pagetest"
)

// routes returns a mux with the patterns of all pages.
func routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, p := range pages() {
		mux.HandleFunc(p.Pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}

func hasPage(t *testing.T, mux *http.ServeMux, path string) bool {
	t.Helper()
	_, pattern := mux.Handler(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return pattern != ""
}

// Clients, messages and the det client print these addresses.
func TestPrintedAddressesHavePages(t *testing.T) {
	mux := routes()
	for _, path := range []string{
		"/det/", "/det/experiments", "/det/experiments/1", "/det/experiments/1/overview", "/det/experiments/1/some/tail",
		"/det/experiments/1/trials/2", "/det/experiments/1/trials/2/logs", "/det/trials/2", "/det/trials/2/logs",
		"/det/projects/1", "/det/projects/1/experiments", "/det/workspaces", "/det/workspaces/1", "/det/workspaces/1/projects",
		"/det/tasks", "/det/tasks/x", "/det/interactive/x", "/det/interactive/x/notebook/name/pool/http%3A%2F%2Fm%2Fproxy%2Fx",
		"/det/models", "/det/models/digits", "/det/checkpoints", "/det/pools", "/det/pools/gpu", "/det/queue",
	} {
		if !hasPage(t, mux, path) {
			t.Errorf("there is no page at %s", path)
		}
	}
}

func TestFormerAddressesLeadToPages(t *testing.T) {
	mux, s := routes(), pagetest.New(t, formerPages(), nil)
	for from, to := range former() {
		name := strings.NewReplacer("{name}", "a%2Fb", "{rest...}", "x/y")
		got := s.Open(name.Replace(from), http.StatusSeeOther).Header().Get("Location")
		if want := name.Replace(to); got != want || !hasPage(t, mux, got) {
			t.Errorf("%s: got %s, want the page %s", from, got, want)
		}
	}
}

func TestEveryPageIsServedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range pages() {
		if seen[p.Pattern] {
			t.Errorf("two pages are at %s", p.Pattern)
		}
		seen[p.Pattern] = true
	}
}
