package screens_test

import (
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

// checkpoint is one of every stuck master, with the listed file.
const (
	checkpoint = "5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a"
	listing    = `{"checkpoint": {"uuid": "` + checkpoint + `", "state": "STATE_COMPLETED", "resources": {"weights": "1073741824", "metadata.json": "2"}}}`
	// files is the path of the files.
	files = "/checkpoints/" + checkpoint + "/file"
)

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
		switch {
		case strings.HasSuffix(r.URL.Path, "/"+checkpoint):
			_, _ = io.WriteString(w, listing) // the client may have left
			return
		case !strings.Contains(r.URL.Path, path):
			forward.ServeHTTP(w, r)
			return
		}
		select {
		case <-s.called:
		default:
			close(s.called)
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

// trickle reads the request or, if there is nothing to read, answers with a long file, until the client leaves.
func trickle(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		switch {
		case r.Method == http.MethodPost:
			_, err = io.CopyN(io.Discard, r.Body, drop)
		case strings.HasSuffix(r.URL.Path, "/file"):
			_, err = w.Write(make([]byte, drop))
			err = errors.Join(err, http.NewResponseController(w).Flush())
		}
		if err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
