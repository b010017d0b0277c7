package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// An address that the client prints leads to the page that waits, which needs a login, unless it has a ticket.
func TestAddressesOfServices(t *testing.T) {
	t.Parallel()
	s := &shared{cfg: Config{Pages: func(http.Handler) http.Handler { return http.NotFoundHandler() }}}
	for name, tt := range map[string]struct {
		path, cookie string
		want         bool
	}{
		"a service":               {"/proxy/t1/", "", true},
		"an API call":             {"/api/v1/me", "", false},
		"a page":                  {"/det/tasks", "", false},
		"printed":                 {"/det/interactive/t1/tensorboard/x", "", false},
		"printed with a ticket":   {"/det/interactive/t1/x/serviceAddr%3D%2Fproxy%2Ft1%2F%3Ftoken%3Dabc", "", true},
		"for a visitor with both": {"/det/interactive/t1/x/serviceAddr%3D%2Fproxy%2Ft1%2F%3Ftoken%3Dabc", "secret", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		if tt.cookie != "" {
			r.AddCookie(&http.Cookie{Name: PagesCookie(r.Host), Value: tt.cookie})
		}
		if got := s.isService(r); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	s.cfg.Pages = nil
	if !s.isService(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/det/interactive/t1", nil)) {
		t.Error("without pages the addresses lead nowhere")
	}
}
