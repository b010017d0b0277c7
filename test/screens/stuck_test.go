package screens_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// files is the path of files that a master sends.
const files = "/checkpoints/"

// stuck is a master that answers all calls but those of one path, where files trickle as over a bad line.
type stuck struct {
	url string
	// called is closed by the first such call.
	called chan struct{}
}

func (p *person) stuckAt(path string) *stuck {
	p.t.Helper()
	master, err := url.Parse(p.c.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	s := &stuck{called: make(chan struct{})}
	token := p.token()
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(master)
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, path) {
			forward.ServeHTTP(w, r)
			return
		}
		select {
		case <-s.called:
		default:
			close(s.called)
		}
		if r.Method == http.MethodGet && path != files {
			<-r.Context().Done()
			return
		}
		trickle(w, r)
	}))
	p.t.Cleanup(func() {
		server.CloseClientConnections() // a handler reads until then what the client has sent
		server.Close()
	})
	s.url = server.URL
	return s
}

// token logs in as admin.
func (p *person) token() string {
	p.t.Helper()
	body := strings.NewReader(`{"username": "admin", "password": "` + clustertest.Password + `"}`)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.c.URL+"/api/v1/auth/login", body)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	var answer struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		p.t.Fatalf("got %q and %v", answer.Token, err)
	}
	return answer.Token
}

// drop is how much passes at a time.
const drop = 1 << 10

// trickle reads the request, or answers with an archive of a large file, until the client leaves.
func trickle(w http.ResponseWriter, r *http.Request) {
	step := func() error { _, err := io.CopyN(io.Discard, r.Body, drop); return err }
	if r.Method == http.MethodGet {
		step = archive(w)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for step() == nil {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// archive begins an archive with a large file, and returns what sends more of it.
func archive(w http.ResponseWriter) func() error {
	z, _ := gzip.NewWriterLevel(w, gzip.NoCompression) // the level exists
	t := tar.NewWriter(z)
	header := t.WriteHeader(&tar.Header{Name: "weights", Typeflag: tar.TypeReg, Mode: 0o600, Size: 1 << 30})
	return func() error {
		_, err := t.Write(make([]byte, drop))
		return errors.Join(header, err, z.Flush(), http.NewResponseController(w).Flush())
	}
}
