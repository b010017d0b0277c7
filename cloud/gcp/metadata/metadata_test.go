package metadata_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// serve starts a metadata server that responds with a status.
func serve(t *testing.T, status int, flavor string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" || !strings.HasPrefix(r.URL.Path, "/computeMetadata/v1/") {
			t.Errorf("got a request %s %s without what Google wants", r.Method, r.URL)
		}
		w.Header().Set("Metadata-Flavor", flavor)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("det-lab-master\n"))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		flavor string
		want   cloud.Kind
	}{
		{200, "Google", ""},
		{403, "Google", cloud.Denied},
		{404, "Google", cloud.NotFound},
		{429, "Google", cloud.RateLimited},
		{503, "Google", cloud.Unavailable},
		{200, "", cloud.Unavailable},
	} {
		s := metadata.Server{URL: serve(t, tc.status, tc.flavor).URL + "/"}
		got, err := s.Read(t.Context(), "instance/name")
		if cloud.KindOf(err) != tc.want || err == nil && got != "det-lab-master" {
			t.Errorf("%+v: got %q, %v", tc, got, err)
		}
		if err := s.Write(t.Context(), "instance/guest-attributes/a/b", "c"); cloud.KindOf(err) != tc.want {
			t.Errorf("%+v: write: got %v", tc, err)
		}
	}
}

// Other platforms have no such server. The error names the key without the query, which may contain
// a nonce.
func TestOutsideOfGoogle(t *testing.T) {
	t.Parallel()
	gone := serve(t, 200, "Google")
	gone.Close()
	_, err := metadata.Server{URL: gone.URL}.Read(t.Context(), "instance/x?audience=abc")
	if cloud.KindOf(err) != cloud.Unavailable || !strings.HasPrefix(err.Error(), "read the instance metadata: instance/x: ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (metadata.Server{URL: serve(t, 200, "Google").URL}).Read(ctx, "x"); err == nil {
		t.Error("a context that ended: got no error")
	}
}

func TestMetadataHostVariable(t *testing.T) {
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(serve(t, 200, "Google").URL, "http://"))
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if got, err := (metadata.Server{}).Read(t.Context(), "instance/name"); got != "det-lab-master" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
