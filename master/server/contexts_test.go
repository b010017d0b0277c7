package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func gzipped(t *testing.T, text string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestContextsMayBeCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const list = `{"files":[{"path":"a","type":48,"size":"1","pieces":["AAAA"]}]}`
	for name, tt := range map[string]struct {
		body     io.Reader
		encoding string
		code     int
		want     string
	}{
		"plain":           {strings.NewReader(list), "", 200, `"missing":["AAAA"]`},
		"compressed":      {gzipped(t, list), "gzip", 200, `"missing":["AAAA"]`},
		"not compressed":  {strings.NewReader(list), "gzip", 400, "cannot read the request body: gzip: invalid header"},
		"not JSON":        {gzipped(t, "["), "gzip", 400, "invalid request body"},
		"a bomb":          {gzipped(t, strings.Repeat(" ", mostRest+1)), "gzip", 400, "more than 33554432 bytes"},
		"a bomb of lists": {gzipped(t, "["+strings.Repeat("[],", mostListValues)), "gzip", 400, "more than 1600000 values"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/contexts", tt.body)
		r.Header.Set("Authorization", "Bearer "+w.user)
		r.Header.Set("Content-Encoding", tt.encoding)
		answer := httptest.NewRecorder()
		w.portHandler().ServeHTTP(answer, r)
		if got := strings.ReplaceAll(answer.Body.String(), `": `, `":`); answer.Code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %.300s, want %d and %q", name, answer.Code, got, tt.code, tt.want)
		}
	}
}

func TestPiecesAreSpooled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tt := range map[string]struct {
		size int
		code int
		want string
	}{
		"small": {5, 200, `"stored":5`}, "large": {3 << 20, 200, `"stored":3145728`}, "too large": {piecesLimit + 1, 413, "larger than 68157440 bytes"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/contexts/c1/pieces", strings.NewReader(strings.Repeat("x", tt.size)))
		r.Header.Set("Authorization", "Bearer "+w.user)
		answer := httptest.NewRecorder()
		w.portHandler().ServeHTTP(answer, r)
		if got := strings.ReplaceAll(answer.Body.String(), `": `, `":`); answer.Code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %.300s, want %d and %q", name, answer.Code, got, tt.code, tt.want)
		}
	}
}
