package api_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
)

// roundTrip answers requests without a socket.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is an answer of Google's.
func answer(r *http.Request, status int, body string) *http.Response {
	h := http.Header{"Content-Type": {"application/json; charset=UTF-8"}, "Date": {"Sun, 22 Nov 2026 20:00:02 GMT"}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

// clients are those of a project whose Google is f.
func clients(t *testing.T, f roundTrip, o api.Options) api.Clients {
	t.Helper()
	o.Project, o.Region = "vision-lab", "us-central1"
	c, err := api.New(t.Context(), &http.Client{Transport: f}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// opLog collects the calls that are logged.
type opLog struct {
	mu  sync.Mutex
	ops []string
}

func (l *opLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *opLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *opLog) WithGroup(string) slog.Handler            { return l }
func (l *opLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "call" {
			l.ops = append(l.ops, a.Value.String())
		}
		return true
	})
	return nil
}

// makeAll makes every call of some clients once, with arguments that say nothing.
func makeAll(ctx context.Context, v reflect.Value) {
	for f, field := range v.Fields() {
		switch {
		case field.Kind() == reflect.Struct:
			makeAll(ctx, field)
		case field.Kind() == reflect.Func && f.IsExported():
			args := []reflect.Value{reflect.ValueOf(ctx)}
			for in := range f.Type.Ins() {
				if len(args) > 0 && in != reflect.TypeFor[context.Context]() {
					args = append(args, someValue(in))
				}
			}
			field.Call(args)
		}
	}
}

func someValue(t reflect.Type) reflect.Value {
	switch {
	case t == reflect.TypeFor[io.ReadSeeker]():
		return reflect.ValueOf(bytes.NewReader(nil))
	case t.Kind() == reflect.Pointer:
		return reflect.New(t.Elem())
	case t.Kind() == reflect.String:
		return reflect.ValueOf("us-central1-a/x")
	}
	return reflect.Zero(t)
}

// begun is the answer to a call that begins an operation; the wait for it is refused.
func begun(r *http.Request) (*http.Response, error) {
	path := r.URL.Path
	if r.URL.Host != "compute.googleapis.com" || r.Method == http.MethodGet || strings.HasSuffix(path, "/wait") {
		return answer(r, 403, `{"error":{"code":403,"message":"no","errors":[{"reason":"forbidden","message":"no"}]}}`), nil
	}
	where := ""
	switch {
	case strings.Contains(path, "/zones/"):
		where = `,"zone":"https://x/zones/us-central1-a"`
	case strings.Contains(path, "/regions/"):
		where = `,"region":"https://x/regions/us-central1"`
	}
	return answer(r, 200, `{"name":"operation-1","status":"RUNNING"`+where+`}`), nil
}

func TestTheTableHasEveryCallAndNoOther(t *testing.T) {
	t.Parallel()
	log := new(opLog)
	makeAll(t.Context(), reflect.ValueOf(clients(t, begun, api.Options{Log: slog.New(log)})))
	slices.Sort(log.ops)
	edgetest.CheckListed(t, api.Calls(), slices.Compact(log.ops))
}

func TestCallsThatReadAreNamedSo(t *testing.T) {
	t.Parallel()
	edgetest.CheckVerbs(t, api.Calls(), "get", "list", "aggregatedList", "wait", "access", "batchGet", "testIamPermissions", "search")
}

func TestHintsNameKnownCommands(t *testing.T) {
	t.Parallel()
	edgetest.CheckFixes(t, api.Table(), []string{
		"gcloud auth application-default login", "gcloud auth application-default set-quota-project {project}",
		"gcloud services enable {service} --project {project}",
		"gcloud compute machine-types list", "gcloud compute accelerator-types list",
	}, []string{"--project"})
}

// Compute Engine knows by its requestId a change that it was asked for twice.
func TestChangesOfComputeEngineCanBeRepeated(t *testing.T) {
	t.Parallel()
	f := func(r *http.Request) (*http.Response, error) {
		// Those that take none.
		labels := strings.Contains(r.URL.Path, "/global/snapshots/") && strings.HasSuffix(r.URL.Path, "/setLabels") || strings.HasSuffix(r.URL.Path, "/setIamPolicy") || strings.HasSuffix(r.URL.Path, "/testIamPermissions")
		if r.URL.Host == "compute.googleapis.com" && r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/wait") {
			if has := r.URL.Query().Get("requestId") != ""; has == labels {
				t.Errorf("%s %s: got a requestId: %t", r.Method, r.URL, has)
			}
		}
		return begun(r)
	}
	makeAll(t.Context(), reflect.ValueOf(clients(t, f, api.Options{})))
}
