// Package kubefault is a proxy to a Kubernetes API server that breaks the n-th call of a test: it
// rejects the call, drops the reply, or cuts the connection. Only tests may import it.
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

// Fault is a way to break a call.
type Fault string

// The faults.
const (
	// Refused answers 500 to a call that changes something. The server does not receive it.
	Refused Fault = "refused"
	// Lost lets the server execute a call that changes something, and drops the connection instead
	// of sending the reply.
	Lost Fault = "reply lost"
	// Cut drops the call, of any kind, and all that follow.
	Cut Fault = "line cut"
)

// Proxy forwards calls to an API server. It is transparent until a fault is set.
type Proxy struct {
	// Kubeconfig is the path of a kubeconfig for the proxy, as an administrator.
	Kubeconfig string

	mu    sync.Mutex // guards the fields below
	fault Fault
	at    int
	cut   func()
	calls []string
	down  bool
	fired bool
}

// New starts a proxy to the server of cfg that is closed at the end of the test.
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
		// The test reports errors; ignore connections that their client closed.
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

// Break sets a fault for call number at, counted from 1 from now on. Refused and Lost count the
// calls that change something. Cut counts all calls and calls cut, which may be nil, when it
// happens.
func (p *Proxy) Break(f Fault, at int, cut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.at, p.cut, p.calls, p.down, p.fired = f, at, cut, nil, false, false
}

// Mend removes all faults, reports whether one happened, and clears the recorded calls.
func (p *Proxy) Mend() (happened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	happened = p.fired
	p.fault, p.calls, p.down, p.fired = "", nil, false, false
	return happened
}

// Calls returns the calls since the last Break or Mend, such as "POST /api/v1/…"; changing leaves
// out reads.
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

// note records a call and returns the fault for it.
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
