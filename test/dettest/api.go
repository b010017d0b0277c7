package dettest

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// API is a client of a master's HTTP API for one user.
type API struct {
	// URL is the address of the master, and Token that of the user.
	URL, Token string
}

// Read returns the response to a GET of a path below /api/v1. It fails the test if the status is
// not 200.
func (a API) Read(t testing.TB, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/api/v1/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	return text
}

// Call decodes the response to a GET like Read.
func (a API) Call(t testing.TB, path string, into any) {
	t.Helper()
	text := a.Read(t, path)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v in %s", path, err, text)
	}
}
