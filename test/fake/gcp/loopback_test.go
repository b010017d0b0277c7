package gcptest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// overLoopback returns the owner's clients over a loopback connection.
func overLoopback(t *testing.T, w *gcptest.World) clients {
	t.Helper()
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	o := option.WithHTTPClient(&http.Client{Transport: bearer{w.Token(gcptest.Caller{})}})
	return clients{
		compute: made[*compute.Service](t)(compute.NewService(t.Context(), o, option.WithEndpoint(s.URL+"/compute/v1/"))),
		storage: made[*storage.Service](t)(storage.NewService(t.Context(), o, option.WithEndpoint(s.URL+"/storage/v1/"))),
	}
}
