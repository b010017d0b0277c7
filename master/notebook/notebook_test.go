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
	"github.com/det-deploy/det-deploy/master/task/idle"
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
	// err is that of connections.
	err error
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
	if f.err != nil {
		return nil, f.err
	}
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

func oneNotebook() task.Notebook {
	return task.Notebook{
		Task: idle.Task{Allocation: "t.1", Container: "c", IdleTimeout: 20 * time.Minute},
		Path: "/proxy/t/", Port: 2900, Key: "secret", IdleType: spec.KernelsOrTerminals,
	}
}

func (f *fake) watch() *Watch {
	return New(Config{Tasks: f, Streams: func() rm.Streams { return f }, Visits: func(rm.ContainerID) int { return f.visits }, Now: func() time.Time { return f.now }})
}

// step is a look at the notebook at a minute, after a change.
type step struct {
	name    string
	minute  int
	prepare func()
	want    string
}

func (f *fake) play(t *testing.T, w *Watch, steps []step) {
	t.Helper()
	for _, step := range steps {
		f.now, f.events = at(step.minute), nil
		step.prepare()
		w.lookAtAll(t.Context())
		if got := strings.Join(f.events, "; "); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

// One whose JupyterLab does not answer is ended as well, unless its machine is away.
func TestWatchOfSilentNotebooks(t *testing.T) {
	t.Parallel()
	const (
		warning = "JupyterLab of this notebook does not answer: it will be ended in 5m0s. Its files can be copied by det-deploy task cp"
		end     = "ended after 30m0s in which its JupyterLab did not answer (idle_timeout)"
	)
	started, kernels := false, "[]"
	f := &fake{now: at(0), server: httptest.NewServer(jupyterOf(&started, &kernels)), list: []task.Notebook{oneNotebook()}}
	t.Cleanup(f.server.Close)
	nothing := func() {}
	f.play(t, f.watch(), []step{
		{"it starts", 0, nothing, ""},
		{"it still starts", 24, nothing, ""},
		{"clients wait no longer", 25, nothing, warning},
		{"its machine is away", 31, func() { f.err = &rm.UnreachableError{Reason: "away"} }, ""},
		{"nothing listens", 31, func() { f.err = &rm.RefusedError{Reason: "connection refused"} }, end},
	})
	f.list, f.err = []task.Notebook{oneNotebook()}, nil
	f.play(t, f.watch(), []step{
		{"it answers", 40, func() { started = true }, "ready"},
		{"a kernel exists", 60, func() { kernels = "[{}]" }, ""},
		{"it hangs", 61, func() { started = false }, ""},
		{"its time is over", 84, nothing, ""},
		{"it hangs for long", 85, nothing, warning},
		{"it answers again", 89, func() { started = true }, ""},
		{"it hangs again", 90, func() { started = false }, ""},
		{"a page waits", 114, func() { f.visits = 1 }, ""},
		{"the page is left", 115, func() { f.visits = 0 }, ""},
		{"it hangs on", 139, nothing, warning},
		{"the end", 144, nothing, end},
	})
	f.list = []task.Notebook{oneNotebook()}
	f.list[0].IdleTimeout = 0
	f.play(t, f.watch(), []step{{"it has no time limit", 200, nothing, ""}, {"for days", 9999, nothing, ""}})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	started, kernels := false, `[{"execution_state":"idle","connections":0,"last_activity":"2026-11-30T09:00:00.5Z"}]`
	f := &fake{
		now: at(0), server: httptest.NewServer(jupyterOf(&started, &kernels)),
		list: []task.Notebook{oneNotebook()},
	}
	t.Cleanup(f.server.Close)
	w := f.watch()
	f.play(t, w, []step{
		{"it starts", 0, func() {}, ""},
		{"it answers", 1, func() { started = true }, "ready"},
		{"a kernel exists", 40, func() {}, ""},
		{"it does not answer", 64, func() { started, kernels = false, "[]" }, ""},
		{"long unused", 65, func() { started = true }, "Nobody uses this notebook: it will be ended in 5m0s. Open its page to keep it"},
		{"a page is open", 82, func() { f.visits = 1 }, ""},
		{"it is closed", 96, func() { f.visits = 0 }, ""},
		{"five minutes before", 98, func() {}, "Nobody uses this notebook: it will be ended in 5m0s. Open its page to keep it"},
		{"the end", 103, func() {}, "ended after 20m0s without use (idle_timeout)"},
	})
	if w.lookAtAll(t.Context()); len(w.next) != 0 {
		t.Errorf("got %d notebooks that are remembered, want none after the end", len(w.next))
	}
}
