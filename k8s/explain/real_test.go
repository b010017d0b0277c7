package explain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/explain"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share(kubetest.Options{FakeNodes: 1, FakeGPUs: 2}) //nolint:gochecknoglobals // one cluster for the package

func TestMain(m *testing.M) { cluster.Main(m) }

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: master, labels: {app: lab}}
spec:
  selector: {matchLabels: {app: lab}}
  template:
    metadata: {labels: {app: lab}}
    spec:
      containers:
        - {name: main, image: "registry.example/det-deploy:1", resources: {limits: LIMITS}}
`

// apply makes the Deployment with limits, and gives what to wait for.
func apply(t *testing.T, limits string, before ...string) explain.Wait {
	t.Helper()
	c, ns := cluster.Namespace(t)
	for _, text := range append(before, strings.ReplaceAll(deployment, "LIMITS", limits)) {
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Kubectl("apply", "-n", ns, "-f", file)
	}
	return explain.Wait{Of: explain.Of{Client: c.Client(), Namespace: ns, Selector: "app=lab"}, Limit: time.Minute}
}

func TestProgressIsToldUntilEverythingIsUp(t *testing.T) {
	t.Parallel()
	w := apply(t, "{cpu: 10m}")
	var mu sync.Mutex
	var said []string
	w.Say = func(l string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, l)
	}
	if err := explain.UntilUp(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	for _, l := range said {
		if !strings.HasPrefix(l, "deployment master: 0 of 1") {
			t.Errorf("got %q", l)
		}
	}
}

func TestAPodThatFitsNowhereIsNamedWithTheSchedulersWord(t *testing.T) {
	t.Parallel()
	w := apply(t, "{nvidia.com/gpu: 3}")
	w.Limit = 5 * time.Second
	err := explain.UntilUp(t.Context(), w)
	e, ok := errors.AsType[*explain.NotUpError](err)
	if !ok || !e.GaveUp || len(e.Troubles) != 1 {
		t.Fatalf("got %v, want a trouble", err)
	}
	if got := e.Troubles[0]; !strings.Contains(got.Event, "Insufficient nvidia.com/gpu") || !strings.Contains(e.Hint(), "maxSlotsPerPod") {
		t.Errorf("got %+v", got)
	}
}

func TestAFullQuotaIsNamedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := apply(t, "{cpu: 10m}", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '0'}}}")
	began := time.Now()
	err := explain.UntilUp(t.Context(), w)
	e, ok := errors.AsType[*explain.NotUpError](err)
	if !ok || e.GaveUp || time.Since(began) >= w.Limit {
		t.Fatalf("got %v, want that it is not waited for", err)
	}
	if !strings.Contains(err.Error(), "exceeded quota: q") || !strings.Contains(e.Hint(), "kubectl describe quota") {
		t.Errorf("got %v", err)
	}
}
