// Package faultproxy is a proxy for an emulated cloud that injects faults of the network and the
// cloud: error responses in each service's format, throttling, lost requests and responses, delays
// and timeouts. It records all calls, to compare them with the permissions in a policy. Only tests
// may import it.
package faultproxy

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Proxy forwards calls unless a rule applies.
type Proxy struct {
	// URL is the URL of the proxy.
	URL string
	// Name returns the action of a call to a server other than a cloud. Nil detects the calls of
	// clouds. It must be set before the first call.
	Name func(*http.Request) string

	upstream *url.URL
	client   *http.Client

	// mu guards the fields below.
	mu    sync.Mutex
	rand  *rand.Rand
	rules []*active
	calls []Call
}

// active is a rule with its counters, one per action if Each is set.
type active struct {
	Rule
	met map[string]*count
}

type count struct{ seen, used int }

// counts returns the counter of the rule for calls like c.
func (a *active) counts(c Call) *count {
	of := ""
	if a.Each {
		of = c.Action
	}
	if a.met[of] == nil {
		a.met[of] = &count{}
	}
	return a.met[of]
}

// Start starts a proxy for upstream that is stopped at the end of the test. Rules with a
// probability use the seed. 0 generates a seed, which is logged so that a failure can be
// reproduced.
func Start(t testing.TB, upstream string, seed uint64) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return Listen(t, l, upstream, &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}, seed)
}

// Listen is like Start with an existing listener and a client that connects to upstream.
func Listen(t testing.TB, l net.Listener, upstream string, client *http.Client, seed uint64) *Proxy {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("faults are drawn with seed %d", seed)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := &Proxy{
		upstream: to, client: client,
		rand: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // a test needs no secrecy
	}
	server := httptest.NewUnstartedServer(p)
	_ = server.Listener.Close() // replaced by the given listener
	server.Listener = l
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections() // ends calls that hang
		server.Close()
	})
	p.URL = server.URL
	return p
}

// Add adds a rule. The first rule that matches a call applies. The returned function removes the
// rule.
func (p *Proxy) Add(r Rule) func() {
	a := &active{Rule: r, met: map[string]*count{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, a)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(p.rules, func(b *active) bool { return a == b })
	}
}

// Clear removes all rules.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Calls returns all completed calls in the order of completion.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Actions returns the number of calls by "service:Action".
func (p *Proxy) Actions() map[string]int {
	counts := map[string]int{}
	for _, c := range p.Calls() {
		counts[c.Service+":"+c.Action]++
	}
	return counts
}

// ServeHTTP forwards a call or applies the fault of a rule.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller has disconnected
	}
	call := read(r, body)
	if p.Name != nil {
		call.Action = p.Name(r)
	}
	effect := p.decide(call)
	call.Fault = effect.name()
	defer func() { p.note(call) }()

	if effect.Delay > 0 && wait.For(r.Context(), effect.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	switch {
	case effect.Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case effect.Drop:
		panic(http.ErrAbortHandler)
	case effect.Code != "":
		call.Status, call.Code = effect.refuse(w, call)
		return
	}
	answer, err := p.forward(r, body)
	if err != nil {
		panic(http.ErrAbortHandler) // the emulator is gone; drop the connection
	}
	call.Status, call.Code = answer.status, answer.code()
	switch {
	case effect.Lose && effect.Status != 0:
		w.WriteHeader(effect.Status)
		return
	case effect.Lose:
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // the caller may have disconnected
}

// reply is a response of the cloud.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// forward forwards a call with the host that the caller signed.
func (p *Proxy) forward(r *http.Request, body []byte) (reply, error) {
	to := *r.URL
	to.Scheme, to.Host = p.upstream.Scheme, p.upstream.Host
	// A received call is completed even if its caller disconnects.
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header, request.Host = r.Header.Clone(), r.Host
	answer, err := p.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return reply{status: answer.StatusCode, header: answer.Header, body: text}, err
}

func (p *Proxy) decide(c Call) Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.rules {
		if !a.matches(c) {
			continue
		}
		n := a.counts(c)
		n.seen++
		if n.seen <= a.Skip || (a.Count > 0 && n.used >= a.Count) {
			continue
		}
		if a.Probability > 0 && p.rand.Float64() >= a.Probability {
			continue
		}
		n.used++
		return a.Effect
	}
	return Effect{}
}

func (p *Proxy) note(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
}
