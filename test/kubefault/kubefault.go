// Package kubefault stands before a Kubernetes API server and breaks the n-th
// call of a test: it is refused, or its reply is lost, or the line is cut. Only
// tests may import it.
package kubefault

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Fault is what happens to a call.
type Fault string

// The faults.
const (
	// Refused answers 500 to a call that would change something, and the server
	// does not see it.
	Refused Fault = "refused"
	// Lost lets the server carry out a call that changes something, and drops the
	// connection instead of the reply.
	Lost Fault = "reply lost"
	// Cut drops the call, whatever it is, and all that follow.
	Cut Fault = "line cut"
)

// Proxy is one way to an API server. It is sound until a fault is set.
type Proxy struct {
	// Kubeconfig is a file that leads through the proxy, as an administrator.
	Kubeconfig string

	mu    sync.Mutex // guards what is below
	fault Fault
	at    int
	cut   func()
	calls []string
	down  bool
	fired bool
}

// New opens a way to the server of cfg, for the time of a test.
func New(t testing.TB, cfg *rest.Config, namespace string) *Proxy {
	t.Helper()
	to, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	next, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := new(Proxy)
	back := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: next,
		// The test says what is wrong; a connection that its client closed is not.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	srv := httptest.NewServer(p.wrap(back))
	t.Cleanup(srv.Close)
	p.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: %q}}]
current-context: test
`, srv.URL, namespace)
	if err := os.WriteFile(p.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Break sets a fault for the call at, counted from 1 and from now. Refused and
// Lost count the calls that change something, Cut counts all and calls cut, which
// may be nil, when it happens.
func (p *Proxy) Break(f Fault, at int, cut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.at, p.cut, p.calls, p.down, p.fired = f, at, cut, nil, false, false
}

// Mend ends all faults, reports whether there was one, and forgets the calls.
func (p *Proxy) Mend() (happened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	happened = p.fired
	p.fault, p.calls, p.down, p.fired = "", nil, false, false
	return happened
}

// Calls are those since the last Break or Mend, "POST /api/v1/…"; changing leaves
// out those that only look.
func (p *Proxy) Calls(changing bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !changing {
		return slices.Clone(p.calls)
	}
	var out []string
	for _, c := range p.calls {
		if c[:4] != "GET " {
			out = append(out, c)
		}
	}
	return out
}

func (p *Proxy) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p.note(r) {
		case Refused:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"injected"}`))
		case Lost:
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case Cut:
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// note counts a call and says what happens to it.
func (p *Proxy) note(r *http.Request) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return Cut
	}
	p.calls = append(p.calls, r.Method+" "+r.URL.Path)
	n := len(p.calls)
	if p.fault != Cut {
		if r.Method == http.MethodGet {
			return ""
		}
		n = 0
		for _, c := range p.calls {
			if c[:4] != "GET " {
				n++
			}
		}
	}
	if p.fault == "" || n != p.at {
		return ""
	}
	p.fired = true
	if p.fault == Cut {
		p.down = true
		if p.cut != nil {
			p.cut()
		}
	}
	return p.fault
}
