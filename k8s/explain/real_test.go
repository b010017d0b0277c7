package explain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/explain"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share() //nolint:gochecknoglobals // one cluster for the package

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

// apply creates the Deployment with limits, and returns the selector of its objects.
func apply(t *testing.T, limits string, before ...string) explain.Of {
	t.Helper()
	c, ns := cluster.Namespace(t)
	for _, text := range append(before, strings.ReplaceAll(deployment, "LIMITS", limits)) {
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Kubectl("apply", "-n", ns, "-f", file)
	}
	return explain.Of{Client: c.Client(), Namespace: ns, Selector: "app=lab"}
}

// awaitVerdict waits until the verdict satisfies is.
func awaitVerdict(t *testing.T, of explain.Of, what string, is func(explain.Verdict) bool) explain.Verdict {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		seen, err := explain.Look(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		v := explain.Judge(seen, time.Now())
		if is(v) {
			return v
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want %s", v, what)
		}
	}
}

func TestProgressIsReportedUntilReady(t *testing.T) {
	t.Parallel()
	awaitVerdict(t, apply(t, "{cpu: 10m}"), "that it is up", func(v explain.Verdict) bool {
		for _, line := range v.Progress {
			if !strings.HasPrefix(line, "deployment master: 0 of 1") {
				t.Errorf("got %q", line)
			}
		}
		return v.Ready
	})
}

func TestUnschedulablePodQuotesScheduler(t *testing.T) {
	t.Parallel()
	v := awaitVerdict(t, apply(t, "{nvidia.com/gpu: 9}"), "a trouble", func(v explain.Verdict) bool { return len(v.Troubles) > 0 })
	if got := v.Troubles[0]; len(v.Troubles) != 1 || !strings.Contains(got.Event, "Insufficient nvidia.com/gpu") || !strings.Contains(got.Fix, "maxSlotsPerPod") {
		t.Errorf("got %+v", v.Troubles)
	}
}

func TestExhaustedQuotaFailsCheck(t *testing.T) {
	t.Parallel()
	of := apply(t, "{cpu: 10m}", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '0'}}}")
	v := awaitVerdict(t, of, "a lasting trouble", func(v explain.Verdict) bool { return len(v.Troubles) > 0 && v.Troubles[0].Lasting })
	if got := v.Troubles[0]; !strings.Contains(got.String(), "exceeded quota: q") || !strings.Contains(got.Fix, "kubectl describe quota") {
		t.Errorf("got %+v", got)
	}
}
