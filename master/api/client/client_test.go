package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial starts a server with handler h and returns a client for it.
func dial(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{URL: srv.URL, Token: "tok", RetryFor: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestErrorHasKindAndHint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		kind   client.Kind
		text   string
		hint   string
	}{
		{
			"a missing task", 404, `{"error":{"code":5,"reason":"NotFound","error":"command 'x' not found"}}`,
			client.NotFound, "get task x: command 'x' not found", "det-deploy task list --all",
		},
		{"no token", 401, `{"message":"unauthenticated"}`, client.Unauthenticated, "get task x: unauthenticated", "det-deploy login USER"},
		{"a proxy's page", 418, `<html>`, client.Internal, "418", ""},
		{"not built", 501, `{"message":"not yet"}`, client.Unbuilt, "get task x: not yet", "det-deploy version; det-deploy master info"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := c.Command(t.Context(), "x")
			e, ok := errors.AsType[*client.Error](err)
			if !ok {
				t.Fatalf("got %v, want a client.Error", err)
			}
			if e.Kind != tt.kind || !strings.Contains(e.Error(), tt.text) || !strings.HasSuffix(e.Hint(), tt.hint) {
				t.Errorf("got %s %q %q, want %s %q %q", e.Kind, e, e.Hint(), tt.kind, tt.text, tt.hint)
			}
		})
	}
}

// A person learns once why a command does not answer.
func TestLongRetriesAreTold(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := client.New(client.Config{
		URL: "http://127.0.0.1:1", RetryFor: time.Minute,
		Retrying: func(err error) {
			told.Add(1)
			cancel()
			if want := "does not answer: connection refused"; !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Agents(ctx); err == nil {
		t.Error("got an answer, want none")
	}
	if n := told.Load(); n != 1 {
		t.Errorf("it was told %d times, want once", n)
	}
}

func TestCallsAreRetriedWhileMasterStarts(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tok" {
			t.Errorf("got Authorization %q, want the token", r.Header.Get("Authorization"))
		}
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"agents":[{"id":"a","futureField":1}]}`)
	})
	agents, err := c.Agents(t.Context())
	if err != nil || len(agents) != 1 || agents[0].GetId() != "a" {
		t.Errorf("got %v, %v; want agent a", agents, err)
	}
	if asked.Load() != 3 {
		t.Errorf("got %d requests, want 3", asked.Load())
	}
}

func TestAmbiguousCallsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for requestID, want := range map[string]int32{"": 1, "r1": 2} {
		t.Run("request ID "+requestID, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					w.WriteHeader(http.StatusGatewayTimeout)
					return
				}
				_, _ = io.WriteString(w, `{"command":{"id":"x"}}`)
			})
			_, err := c.Launch(t.Context(), &apiv1.LaunchCommandRequest{RequestId: requestID})
			if asked.Load() != want {
				t.Errorf("got %d requests, want %d", asked.Load(), want)
			}
			if (err == nil) != (want == 2) {
				t.Errorf("got %v after %d requests", err, want)
			}
		})
	}
}

// lineOf returns line n of a task's log as sent by the server.
func lineOf(n int) string {
	raw, _ := json.Marshal(map[string]any{"result": map[string]any{"id": fmt.Sprint(n), "message": fmt.Sprintf("line %d\n", n)}})
	return string(raw) + "\n"
}

func TestFollowResumesWithoutLossOrDuplicates(t *testing.T) {
	t.Parallel()
	const total = 20
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("the master knows afterId: %t", knows), func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			c := dial(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/logs") {
					_, _ = io.WriteString(w, `{"task":{"taskId":"t","endTime":"2026-01-01T00:00:00Z"}}`)
					return
				}
				from := 0
				if id := r.URL.Query().Get("afterId"); knows && id != "" {
					_, _ = fmt.Sscan(id, &from)
					from++
				}
				// Every connection but the last breaks a few lines further on.
				upTo := int(connections.Add(1)) * 6
				for n := from; n < min(upTo, total); n++ {
					_, _ = io.WriteString(w, lineOf(n))
				}
				if upTo < total {
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			var got []string
			for l, err := range c.Logs(t.Context(), "t", client.LogQuery{Follow: true}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, l.GetMessage())
			}
			var want []string
			for n := range total {
				want = append(want, fmt.Sprintf("line %d\n", n))
			}
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestFollowContinuesAfterMasterStops(t *testing.T) {
	t.Parallel()
	var connections, looks atomic.Int32
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/logs") {
			if looks.Add(1) == 1 {
				_, _ = io.WriteString(w, `{"task":{"taskId":"t","endTime":null}}`)
				return
			}
			_, _ = io.WriteString(w, `{"task":{"taskId":"t","endTime":"2026-01-01T00:00:00Z"}}`)
			return
		}
		for n := range int(connections.Add(1)) {
			_, _ = io.WriteString(w, lineOf(n))
		}
	})
	n := 0
	for _, err := range c.Logs(t.Context(), "t", client.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 || connections.Load() != 2 {
		t.Errorf("got %d lines in %d connections, want 2 in 2", n, connections.Load())
	}
}

func TestFollowWaitsLongerThanRetryFor(t *testing.T) {
	t.Parallel()
	var connections, refusals, noticed atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/logs"):
			_, _ = io.WriteString(w, `{"task":{"taskId":"t","endTime":"2026-01-01T00:00:00Z"}}`)
		case connections.Add(1) == 1:
			_, _ = io.WriteString(w, lineOf(0))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case noticed.Load() < 2: // the wait has been reported twice
			refusals.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, lineOf(0)+lineOf(1))
		}
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{URL: srv.URL, RetryFor: time.Millisecond, Away: func(err error) {
		noticed.Add(1)
		if client.KindOf(err) != client.Unavailable {
			t.Errorf("told %v, want that the master is unavailable", err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var got []string
	for l, err := range c.Logs(t.Context(), "t", client.LogQuery{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.GetMessage())
	}
	if d := cmp.Diff(got, []string{"line 0\n", "line 1\n"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if refusals.Load() < 2 || noticed.Load() < 2 {
		t.Errorf("got %d refusals and %d notices, want 2 of each", refusals.Load(), noticed.Load())
	}
}

func TestFollowGivesUpWithoutAFirstAnswer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{URL: srv.URL, RetryFor: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, err := range c.Logs(t.Context(), "t", client.LogQuery{Follow: true}) {
		if client.KindOf(err) != client.Unavailable {
			t.Errorf("got %v, want that the master is unavailable", err)
		}
	}
}

func TestTailIsReadOldestFirst(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("limit") != "2" || q.Get("orderBy") != "ORDER_BY_DESC" || q.Get("follow") != "false" {
			t.Errorf("got query %v, want the last two", q)
		}
		_, _ = io.WriteString(w, lineOf(9)+lineOf(8))
	})
	var got []string
	for l, err := range c.Logs(t.Context(), "t", client.LogQuery{Tail: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.GetId())
	}
	if d := cmp.Diff(got, []string{"8", "9"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestRejectedStreamReturnsTheError(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, lineOf(1)+`{"error":{"grpc_code":5,"http_code":404,"message":"task 't' not found"}}`+"\n")
	})
	var last error
	for _, err := range c.Logs(t.Context(), "t", client.LogQuery{Follow: true}) {
		last = err
	}
	if client.KindOf(last) != client.NotFound {
		t.Errorf("got %v, want %s", last, client.NotFound)
	}
}

func TestACancelledFollowEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, lineOf(1))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	var last error
	for _, err := range c.Logs(ctx, "t", client.LogQuery{Follow: true}) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v, want %v", last, context.Canceled)
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"clusterId":"lab"}`)
	}))
	t.Cleanup(srv.Close)
	cert, err := client.Peek(t.Context(), srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if cert.Trusted {
		t.Error("the test's certificate is trusted by the system")
	}
	other := strings.Repeat("AB:", 31) + "AB"
	tests := []struct {
		name string
		cfg  client.Config
		kind client.Kind
	}{
		{"the certificate is pinned", client.Config{Fingerprint: cert.Fingerprint}, ""},
		{"in another spelling", client.Config{Fingerprint: "sha256:" + strings.ToLower(strings.ReplaceAll(cert.Fingerprint, ":", ""))}, ""},
		{"another is pinned", client.Config{Fingerprint: other}, client.Untrusted},
		{"nothing is pinned", client.Config{}, client.Untrusted},
		{"its authority is known", client.Config{CA: cert.PEM}, ""},
		{"its authority is known, the name is not", client.Config{CA: cert.PEM, ServerName: "elsewhere"}, client.Untrusted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.URL, tt.cfg.RetryFor = srv.URL, time.Nanosecond
			c, err := client.New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			m, err := c.Master(t.Context())
			if client.KindOf(err) != tt.kind {
				t.Fatalf("got %v, want kind %q", err, tt.kind)
			}
			if err == nil && m.GetClusterId() != "lab" {
				t.Errorf("got cluster %q, want lab", m.GetClusterId())
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"localhost":              "http://localhost:8080",
		"10.0.0.5:9000":          "http://10.0.0.5:9000",
		"https://x":              "https://x",
		"https://x/det/":         "https://x/det",
		"http://localhost:8080/": "http://localhost:8080",
	} {
		got, err := client.ParseURL(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "ftp://x", "http://"} {
		if got, err := client.ParseURL(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, got)
		}
	}
}

func TestCheckpointFileContinues(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"a part": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("1234"))
		},
		"the whole file": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "1234") },
	} {
		body, err := dial(t, h).CheckpointFile(t.Context(), "c", "sub/weights", 3)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil || string(got) != "4" {
			t.Errorf("%s: got %q, %v, want the last byte", name, got, err)
		}
	}
}
