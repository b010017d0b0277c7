package gcptest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every method that the world implements exists in Google's discovery documents.
func TestActsExistInDiscoveryDocuments(t *testing.T) {
	t.Parallel()
	docs, err := loadDocuments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, s := range docs.services {
		s.eachMethod(func(m *method) { known[m.ID] = true })
	}
	for id, act := range allActs() {
		if !known[id] || act == nil {
			t.Errorf("%s is no method of Google's, or has no act", id)
		}
	}
}

// Queries are not changes, even if their HTTP method is POST.
func TestQueriesAreNotChanges(t *testing.T) {
	t.Parallel()
	docs, err := loadDocuments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks := []string{"get", "list", "aggregatedList", "wait", "search", "access", "batchGet", "getFromFamily", "getIamPolicy", "getEffectivePolicy", "testIamPermissions", "getSerialPortOutput", "getGuestAttributes"}
	asked := make(map[string]bool)
	for _, verb := range asks {
		asked[verb] = true
	}
	acts := allActs()
	for _, s := range docs.services {
		s.eachMethod(func(m *method) {
			verb := m.ID[strings.LastIndexByte(m.ID, '.')+1:]
			if acts[m.ID] != nil && m.changes() == asked[verb] {
				t.Errorf("%s changes something: %v", m.ID, m.changes())
			}
		})
	}
}

// faultRecorder records errors that would fail a test.
type faultRecorder struct {
	testing.TB
	faults []string
}

func (r *faultRecorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// A response of the fake that violates the discovery documents fails the test.
func TestResponsesAreValidated(t *testing.T) {
	t.Parallel()
	r := &faultRecorder{TB: t}
	w := New(r, Options{})
	w.acts["compute.zones.get"] = func(*call) (any, error) { return map[string]any{"machineTypes": 3, "status": "SLEEPY"}, nil }
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://compute.googleapis.com/compute/v1/projects/acme-ml/zones/us-west1-b", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Client("").Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if len(r.faults) != 1 || !strings.Contains(r.faults[0], "machineTypes: unknown property") || !strings.Contains(r.faults[0], `"SLEEPY" is none of`) {
		t.Errorf("got %q", r.faults)
	}
}
