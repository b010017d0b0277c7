package parts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/golden"
)

// insertions records the bodies of insert requests.
type insertions struct {
	next http.RoundTripper

	mu     sync.Mutex // guards bodies
	bodies [][]byte
}

// RoundTrip passes a request on.
func (i *insertions) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/instances") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		i.mu.Lock()
		i.bodies = append(i.bodies, body)
		i.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return i.next.RoundTrip(r)
}

// The golden files hold the exact requests to Google for the pools of the manuals.
func TestPoolsOfManualsRequests(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gcp-master", "gcp-registry-master"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yaml, err := os.ReadFile("../../../../docs/examples/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			got := insertionOf(t, strings.ReplaceAll(string(yaml), "det-lab-project", gcptest.Project))
			path := filepath.Join("testdata", name+".insert.golden.json")
			golden.Compare(t, path, string(got))
		})
	}
}

// insertionOf returns the insert request for the first machine of a pool, without its startup script,
// which has separate golden files.
func insertionOf(t *testing.T, yaml string) []byte {
	t.Helper()
	w, p := atGoogle(t)
	w.GiveImage(gcptest.Project, "det-agent", "", 30)
	w.GiveAccount(gcptest.Project, "det-agent")
	w.GiveDisk(gcptest.Project, zoneB, "second", 500)
	sent := &insertions{next: w.Transport(gcptest.Caller{})}
	p.open = func(ctx context.Context, o api.Options) (api.Clients, error) {
		return api.New(ctx, &http.Client{Transport: sent}, o)
	}
	env := gcpEnv(t, yaml)
	m, err := p.Machines(t.Context(), env, env.Config.ResourcePools[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Instances.Launch(t.Context(), cloud.Launch{Token: "first-launch", Offer: m.Offers[0], Count: 1}); err != nil {
		t.Fatal(err)
	}
	return withoutScript(t, sent.bodies[0])
}

func withoutScript(t *testing.T, body []byte) []byte {
	t.Helper()
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	metadata, _ := in["metadata"].(map[string]any)
	items, _ := metadata["items"].([]any)
	for _, item := range items {
		if i, ok := item.(map[string]any); ok && i["key"] == "startup-script" {
			i["value"] = "…"
		}
	}
	out, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}
