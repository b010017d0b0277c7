package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// open returns a client of a fake server, with namespace lab.
func open(t *testing.T, gate *resource.Gate, answer http.HandlerFunc) *kube.Client {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {}}]
contexts: [{name: here, context: {cluster: c, user: u, namespace: lab}}]
current-context: here
`, srv.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(kube.Options{Kubeconfig: file, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(ctx context.Context, t *testing.T, c *kube.Client) error {
	t.Helper()
	set, err := c.Clientset()
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.CoreV1().Secrets(c.Namespace()).Create(ctx, &corev1.Secret{}, metav1.CreateOptions{})
	return kube.Translate(kube.Call{Verb: "create", Resource: "secrets", Namespace: c.Namespace()}, err)
}

func get(ctx context.Context, t *testing.T, c *kube.Client) error {
	t.Helper()
	set, err := c.Clientset()
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.CoreV1().Secrets(c.Namespace()).Get(ctx, "a", metav1.GetOptions{})
	return kube.Translate(kube.Call{Verb: "get", Resource: "secrets", Namespace: c.Namespace(), Name: "a"}, err)
}

func answer(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, message)
}

func TestGateGuardsChanges(t *testing.T) {
	t.Parallel()
	gate := new(resource.Gate)
	var calls atomic.Int32
	c := open(t, gate, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		answer(w, 404, "NotFound", "no")
	})
	err := create(t.Context(), t, c)
	if !errors.Is(err, resource.ErrReadOnly) || calls.Load() != 0 {
		t.Errorf("got %v after %d calls, want a shut gate and none", err, calls.Load())
	}
	if err := get(t.Context(), t, c); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that looking is let through", err)
	}
	lost := errors.New("the lease is lost")
	shut := gate.Open(func(context.Context) error { return lost })
	defer shut()
	if err := create(t.Context(), t, c); !errors.Is(err, lost) {
		t.Errorf("got %v, want the gate's own words", err)
	}
}

func TestRefusalsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		code            int
		reason, message string
		want            cloud.Kind
		fix             string
	}{
		{"no permission", 403, "Forbidden", "secrets is forbidden", cloud.Denied, "a Role that grants create on secrets in namespace lab; verify with `kubectl auth can-i create secrets -n lab`"},
		{"unknown to the server", 401, "Unauthorized", "", cloud.Denied, "log in"},
		{"over the quota", 403, "Forbidden", "exceeded quota: q, requested: pods=1", cloud.Quota, "kubectl describe quota -n lab"},
		{"against Pod Security", 403, "Forbidden", `violates PodSecurity "restricted:latest"`, cloud.Invalid, "pod-security"},
		{"there already", 409, "AlreadyExists", "", cloud.Conflict, ""},
		{"wrong", 422, "Invalid", "spec.x: Required", cloud.Invalid, ""},
		{"gone wrong half-way", 500, "InternalError", "", cloud.Ambiguous, "again"},
		{"no reply in time", 504, "Timeout", "", cloud.Ambiguous, "again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			c := open(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				answer(w, tc.code, tc.reason, tc.message)
			})
			err := create(t.Context(), t, c)
			e, ok := errors.AsType[*cloud.Error](err)
			if !ok || e.Kind != tc.want || !strings.Contains(e.Fix, tc.fix) || e.Op != "k8s:create secrets" {
				t.Errorf("got %#v, want the kind %s and the fix %q", err, tc.want, tc.fix)
			}
			if calls.Load() != 1 {
				t.Errorf("got %d calls, want one: it may have had its effect", calls.Load())
			}
		})
	}
}

func TestReadsAreRetried(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := open(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			answer(w, 503, "ServiceUnavailable", "")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`))
	})
	if err := get(t.Context(), t, c); err != nil || calls.Load() != 3 {
		t.Errorf("got %v after %d calls, want an answer at the third", err, calls.Load())
	}
}

func TestWritesAreRetriedOnlyIfThrottled(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := open(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			answer(w, 429, "TooManyRequests", "")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`))
	})
	if err := create(t.Context(), t, c); err != nil || calls.Load() != 2 {
		t.Errorf("got %v after %d calls, want a second", err, calls.Load())
	}
}

func TestALostReplyIsAmbiguous(t *testing.T) {
	t.Parallel()
	c := open(t, nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if err := create(t.Context(), t, c); cloud.KindOf(err) != cloud.Ambiguous {
		t.Errorf("got %v, want %s", err, cloud.Ambiguous)
	}
}

func TestNoServerIsUnavailable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	srv.Close()
	c, err := kube.Open(kube.Options{Kubeconfig: os.DevNull, Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := create(t.Context(), t, c); cloud.KindOf(err) != cloud.Unavailable {
		t.Errorf("got %v, want %s", err, cloud.Unavailable)
	}
}

func TestAnOperationEndsItsCallsAndKeepsItsRefusals(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	c := open(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			answer(w, 403, "Forbidden", "")
			return
		}
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	bound, trail := c.Within(ctx)
	if err := create(t.Context(), t, bound); cloud.KindOf(err) != cloud.Denied {
		t.Errorf("got %v, want %s", err, cloud.Denied)
	}
	if err := trail.Last(errors.New("something went wrong")); cloud.KindOf(err) != cloud.Denied {
		t.Errorf("got %v, want what was refused", err)
	}
	go func() {
		<-asked
		cancel()
	}()
	if err := get(t.Context(), t, bound); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it ends with the operation", err)
	}
}

func TestOpenReportsReason(t *testing.T) {
	t.Parallel()
	_, err := kube.Open(kube.Options{Kubeconfig: "testdata/none"})
	if cloud.KindOf(err) != cloud.Invalid {
		t.Errorf("got %v, want %s", err, cloud.Invalid)
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\ncontexts: [{name: there, context: {cluster: c}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = kube.Open(kube.Options{Kubeconfig: file, Context: "here"})
	if e, ok := errors.AsType[*cloud.Error](err); !ok || !strings.Contains(e.Fix, "there") {
		t.Errorf("got %v, want the contexts that exist", err)
	}
}
