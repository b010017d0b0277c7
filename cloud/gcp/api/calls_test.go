package api_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// roundTrip handles requests without a network connection.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer returns a response in the form of Google's.
func answer(r *http.Request, status int, body string) *http.Response {
	h := http.Header{"Content-Type": {"application/json; charset=UTF-8"}, "Date": {"Sun, 22 Nov 2026 20:00:02 GMT"}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

// clients returns the clients of a project whose requests are handled by f.
func clients(t *testing.T, f roundTrip, o api.Options) api.Clients {
	t.Helper()
	o.Project, o.Region = "vision-lab", "us-central1"
	c, err := api.New(t.Context(), &http.Client{Transport: f}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each call matches the request in Google's discovery documents, including requestId for modifying
// calls.
func TestCallsMatchDiscoveryDocuments(t *testing.T) {
	t.Parallel()
	methods := gcptest.Methods(t)
	for _, c := range api.Calls() {
		m, found := methods[c.Op]
		if !found {
			t.Errorf("%s: Google has no such method", c.Op)
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), m.Verb, "https://x.example.com/"+placeholder.ReplaceAllString(m.Path, "x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		op, requestID := api.CallOf(r)
		if op != c.Op || requestID != (c.Changes && slices.Contains(m.Parameters, "requestId")) {
			t.Errorf("%s %s: got %q, with a requestId: %t; want %q", m.Verb, m.Path, op, requestID, c.Op)
		}
	}
}

// placeholder matches a parameter in the path of a method.
var placeholder = regexp.MustCompile(`\{[^}]*\}`)

func TestReadCallsHaveReadNames(t *testing.T) {
	t.Parallel()
	edgetest.CheckVerbs(t, api.Calls(), "get", "list", "aggregatedList", "wait", "access", "batchGet", "testIamPermissions", "search")
}

func TestHintsNameKnownCommands(t *testing.T) {
	t.Parallel()
	edgetest.CheckFixes(t, api.Table(), []string{
		"gcloud auth application-default login", "gcloud auth application-default set-quota-project {project}",
		"gcloud services enable {service} --project {project}",
		"gcloud compute machine-types list", "gcloud compute accelerator-types list",
	}, []string{"--project"})
}
