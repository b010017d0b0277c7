package machine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/machine"
	"github.com/det-deploy/det-deploy/cloud/host"
)

// metadata returns a client of a fake metadata service that requires a session token.
func metadata(t *testing.T, paths map[string]string) *machine.Metadata {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" {
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
			_, _ = w.Write([]byte("secret"))
			return
		}
		text, found := paths[strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")]
		switch {
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case !found:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(srv.Close)
	return machine.NewMetadata(srv.URL)
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	c := metadata(t, map[string]string{"instance-id": "i-1", "placement/region": "us-west-2"})
	id, err := c.Identity(t.Context())
	if d := cmp.Diff(id, host.Identity{Instance: "i-1", Region: "us-west-2"}); err != nil || d != "" {
		t.Errorf("got %v, -; want +:\n%s", err, d)
	}
	if _, found, err := c.Get(t.Context(), "spot/instance-action"); found || err != nil {
		t.Errorf("got %v, %v; want it missing", found, err)
	}
	if _, err := metadata(t, nil).Identity(t.Context()); err == nil || !strings.Contains(err.Error(), "it does not exist") {
		t.Errorf("got %v, want that it does not know who it is", err)
	}
}
