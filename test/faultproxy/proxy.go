// Package faultproxy stands between a program and an emulated cloud and lets
// the network, or the cloud, fail: refusals in each service's own form,
// throttling, requests and replies that are lost, delays and silence. It also
// writes down every call, to compare with what a policy allows. Only tests may
// import it.
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

// Proxy passes calls on, unless a rule says otherwise.
type Proxy struct {
	// URL is where it answers.
	URL string
	// Name is the action of a call to what is no cloud; nil names those of clouds. It
	// is set before the first call.
	Name func(*http.Request) string

	upstream *url.URL
	client   *http.Client

	// mu guards what is below.
	mu    sync.Mutex
	rand  *rand.Rand
	rules []*active
	calls []Call
}

// active is a rule and how often it was met, by action if each counts for itself.
type active struct {
	Rule
	met map[string]*count
}

type count struct{ seen, used int }

// counts is how often the rule was met by calls like c.
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

// Start starts a proxy before upstream that ends with the test. Rules with a
// probability draw from seed; 0 draws a seed. It is printed, so that a failure
// can be had again.
func Start(t testing.TB, upstream string, seed uint64) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return Listen(t, l, upstream, &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}, seed)
}

// Listen is Start on a port of the caller's, with a client that reaches upstream.
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
		rand: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // faults are no secrets
	}
	server := httptest.NewUnstartedServer(p)
	_ = server.Listener.Close() // it gets the caller's instead
	server.Listener = l
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections() // a call that hangs ends with its connection
		server.Close()
	})
	p.URL = server.URL
	return p
}

// Add adds a rule. The first that matches a call decides. The function that is
// returned takes it out again.
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

// Clear takes out all rules.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Calls returns every call so far, in the order in which they ended.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Actions counts the calls by "service:Action".
func (p *Proxy) Actions() map[string]int {
	counts := map[string]int{}
	for _, c := range p.Calls() {
		counts[c.Service+":"+c.Action]++
	}
	return counts
}

// ServeHTTP passes one call on, or does what a rule says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller is gone
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
		panic(http.ErrAbortHandler) // the emulator is gone, and so is this connection
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
	_, _ = w.Write(answer.body) // a caller that is gone gets nothing
}

// reply is the cloud's own answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// forward sends a call on with the host that the caller signed.
func (p *Proxy) forward(r *http.Request, body []byte) (reply, error) {
	to := *r.URL
	to.Scheme, to.Host = p.upstream.Scheme, p.upstream.Host
	// A call that has been received is carried out, whether or not its caller waits.
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
