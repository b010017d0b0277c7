package notebook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/jupyter"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// fake is a cluster with one notebook.
type fake struct {
	rm.Streams

	list   []task.Notebook
	server *httptest.Server
	now    time.Time
	visits int
	events []string
}

func (f *fake) Notebooks() []task.Notebook { return f.list }

func (f *fake) Ready(context.Context, string) error {
	f.list[0].Ready = true
	f.events = append(f.events, "ready")
	return nil
}

func (f *fake) WarnIdle(_ context.Context, _ rm.AllocationID, text string) error {
	f.events = append(f.events, text)
	return nil
}

func (f *fake) EndIdle(_ context.Context, _ rm.AllocationID, reason string) error {
	f.events, f.list = append(f.events, reason), nil
	return nil
}

func (f *fake) Dial(ctx context.Context, _ rm.ContainerID, _ int) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", f.server.Listener.Addr().String())
}

// jupyterOf answers as Jupyter does once it has started.
func jupyterOf(started *bool, kernels *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !*started:
			http.Error(w, "starting", http.StatusServiceUnavailable)
		case r.Header.Get(jupyter.Header) != "secret":
			http.Error(w, "no key", http.StatusForbidden)
		case r.URL.Path == "/proxy/t/api/status":
			_, _ = w.Write([]byte(`{"kernels":0}`))
		case r.URL.Path == "/proxy/t/api/kernels":
			_, _ = w.Write([]byte(*kernels))
		default:
			http.NotFound(w, r)
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	started, kernels := false, `[{"execution_state":"idle","connections":0,"last_activity":"2026-11-30T09:00:00.5Z"}]`
	f := &fake{
		now: at(0), server: httptest.NewServer(jupyterOf(&started, &kernels)),
		list: []task.Notebook{{Allocation: "t.1", Container: "c", Path: "/proxy/t/", Port: 2900, Key: "secret", IdleTimeout: 20 * time.Minute, IdleType: spec.KernelsOrTerminals}},
	}
	t.Cleanup(f.server.Close)
	w := New(Config{Tasks: f, Streams: func() rm.Streams { return f }, Visits: func(rm.ContainerID) int { return f.visits }, Now: func() time.Time { return f.now }})
	for _, step := range []struct {
		name    string
		minute  int
		prepare func()
		want    string
	}{
		{"it starts", 0, func() {}, ""},
		{"it answers", 1, func() { started = true }, "ready"},
		{"a kernel exists", 40, func() {}, ""},
		{"it does not answer", 80, func() { started, kernels = false, "[]" }, ""},
		{"long unused", 81, func() { started = true }, "Nobody uses this notebook: it will be ended in 5m0s. Open its page to keep it"},
		{"a page is open", 82, func() { f.visits = 1 }, ""},
		{"it is closed", 96, func() { f.visits = 0 }, ""},
		{"five minutes before", 98, func() {}, "Nobody uses this notebook: it will be ended in 5m0s. Open its page to keep it"},
		{"the end", 103, func() {}, "ended after 20m0s without use (idle_timeout)"},
	} {
		f.now, f.events = at(step.minute), nil
		step.prepare()
		w.lookAtAll(t.Context())
		if got := strings.Join(f.events, "; "); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if w.lookAtAll(t.Context()); len(w.of) != 0 {
		t.Errorf("got %d notebooks that are remembered, want none after the end", len(w.of))
	}
}
