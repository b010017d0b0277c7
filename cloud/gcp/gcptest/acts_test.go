package gcptest

import (
	"strings"
	"testing"
)

// Every method that the world answers is one of Google's.
func TestActsAreGooglesMethods(t *testing.T) {
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

// Questions change nothing, whatever their HTTP method.
func TestQuestionsAreNoChanges(t *testing.T) {
	t.Parallel()
	docs, err := loadDocuments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks := []string{"get", "list", "aggregatedList", "wait", "search", "access", "batchGet", "getFromFamily", "getIamPolicy", "testIamPermissions", "getSerialPortOutput", "getGuestAttributes"}
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
