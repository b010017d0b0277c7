package proxy_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/proxy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "Initial-1234"

// world is a master's proxy in front of the programs of two tasks.
type world struct {
	t        *testing.T
	auth     *auth.Auth
	services map[string]task.Service
	// programs are the addresses of the programs, and failures the errors of connections, by container.
	programs map[rm.ContainerID]string
	failures map[rm.ContainerID]error
	// stop ends the contexts of all requests, as a master that stops does.
	stop    context.CancelFunc
	proxy   *proxy.Proxy
	server  *httptest.Server
	entered []string
}

func newWorld(t *testing.T, origin *url.URL) *world {
	t.Helper()
	s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "s.db")})
	a, err := auth.Open(t.Context(), auth.Config{Store: s, InitialPassword: password})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, auth: a, services: map[string]task.Service{}, programs: map[rm.ContainerID]string{}, failures: map[rm.ContainerID]error{},
	}
	w.proxy = proxy.New(proxy.Config{
		Services: w, Visitors: a, Streams: func() rm.Streams { return streams{w: w} }, Origin: origin,
		Entered: func(_ context.Context, _ *http.Request, by *apiv1.User, service string) {
			w.entered = append(w.entered, by.GetUsername()+" "+service)
		},
	})
	w.server = httptest.NewUnstartedServer(w.proxy)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w.stop = stop
	w.server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	w.server.Start()
	t.Cleanup(func() { stop(); w.server.Close() })
	return w
}

// run starts a program as the service of a task of the user determined.
func (w *world) run(id string, port int, program http.Handler) {
	w.t.Helper()
	backend := httptest.NewServer(program)
	w.t.Cleanup(backend.Close)
	w.listen(id, port, backend.Listener.Addr().String())
}

func (w *world) listen(id string, port int, address string) {
	c := rm.ContainerID("container-of-" + id)
	w.programs[c] = address
	w.services[id] = task.Service{Task: rm.TaskID(id), Owner: 2, Container: c, Port: port}
}

// Service implements proxy.Services.
func (w *world) Service(_ context.Context, id string, port int) (task.Service, error) {
	s, found := w.services[id]
	if !found || port != 0 && port != s.Port {
		return s, status.New(status.NotFound, "service not found: %s", id)
	}
	return s, nil
}

// streams connects to the programs of the test.
type streams struct {
	rm.Streams

	w *world
}

func (s streams) Dial(ctx context.Context, c rm.ContainerID, _ int) (net.Conn, error) {
	if err := s.w.failures[c]; err != nil {
		return nil, err
	}
	address, found := s.w.programs[c]
	if !found {
		return nil, errors.New("no such container")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// parse returns an origin, or nil for an empty text.
func parse(t *testing.T, origin string) *url.URL {
	t.Helper()
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// user returns a user of the cluster, or one without any tasks.
func (w *world) user(name string) *apiv1.User {
	if u, err := w.auth.UserNamed(name); err == nil {
		return u
	}
	return &apiv1.User{Id: 99, Username: name}
}

// login returns the token of a user.
func (w *world) login(name string) string {
	w.t.Helper()
	text, _, err := w.auth.Login(w.t.Context(), &apiv1.LoginRequest{Username: name, Password: password}, "127.0.0.1")
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// ticket returns a ticket of a user for a service.
func (w *world) ticket(name, service string) string {
	w.t.Helper()
	text, err := w.auth.IssueTicket(w.login(name), service, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// get sends a request with headers, given as "Name: value", and follows no redirect.
func (w *world) get(path string, headers ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		if r.Header.Add(key, value); key == "Host" {
			r.Host = value
		}
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}
