package helm_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/test/kubefault"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share() //nolint:gochecknoglobals // one cluster for the package

func TestMain(m *testing.M) {
	kube.Quiet(slog.New(slog.DiscardHandler))
	cluster.Main(m)
}

// bench is a namespace of the real API server, with a proxy that can inject faults.
type bench struct {
	*kubefault.Proxy
	cluster   *kubetest.Cluster
	namespace string
	helm      *helm.Client
	// objects connects to the server without the proxy.
	objects dynamic.Interface
}

func newBench(t *testing.T) bench {
	t.Helper()
	c, ns := cluster.Namespace(t)
	p := kubefault.New(t, c.Config(), ns)
	k, err := kube.Open(kube.Options{Kubeconfig: p.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return bench{p, c, ns, helm.Open(helm.Config{Kube: k}), objects}
}

// named returns the sample with another name, because scenarios share a namespace.
func named(name string, values map[string]any) helm.Release {
	r := sample(values)
	r.Name = name
	return r
}

// left lists the objects of a release and Helm's records of it.
func (b bench) left(t *testing.T, name string) string {
	t.Helper()
	var out []string
	look := func(resource, selector string) {
		group, version, _ := strings.Cut(resource, "/")
		version, resource, _ = strings.Cut(version, "/")
		list, err := b.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(b.namespace).
			List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out = append(out, strings.ToLower(o.GetKind())+"/"+o.GetName())
		}
	}
	for _, resource := range []string{"/v1/pods", "/v1/services", "apps/v1/deployments", "apps/v1/replicasets", "/v1/secrets", "/v1/configmaps", "/v1/persistentvolumeclaims"} {
		look(resource, "app="+name)
	}
	look("/v1/secrets", "owner=helm,name="+name)
	return strings.Join(out, " ")
}

// leftBesides is like left, but waits for the deletion of pods that Kubernetes created while their
// Deployment was deleted.
func (b bench) leftBesides(t *testing.T, name, want string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		got := b.left(t, name)
		if got == want || !strings.Contains(got, "pod/") || time.Now().After(end) {
			return got
		}
		_ = wait.For(t.Context(), 100*time.Millisecond) // the deadline of the test ends it
	}
}

// in reports an error unless a release is exactly as wanted.
func (b bench) in(t *testing.T, want helm.Release) {
	t.Helper()
	changes, err := b.helm.Diff(t.Context(), want)
	if err != nil || len(changes) > 0 {
		t.Errorf("got %+v (%v), want no difference", changes, err)
	}
	info, err := b.helm.Status(t.Context(), want.Name)
	if err != nil || info.Status != helm.Deployed {
		t.Errorf("got %s (%v), want it deployed", info.Status, err)
	}
}

func TestTheLifeOfARelease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two := named("lab", nil), named("lab", map[string]any{"extra": true, "replicas": 2, "password": "hunter2"})
	if _, err := b.helm.Upgrade(t.Context(), one); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is nothing to upgrade", err)
	}
	if got, want := verbs(t, b, one), []string{
		"create Secret config-lab", "create PersistentVolumeClaim data-lab", "create Service front-lab", "create Deployment app-lab",
	}; cmp.Diff(got, want) != "" {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := b.helm.Install(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	b.in(t, one)
	changes, err := b.helm.Diff(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if got := fmt.Sprint(c.Drift, c.Reason); strings.Contains(got, "hunter2") {
			t.Errorf("got a secret: %s", got)
		}
	}
	if d := cmp.Diff(lines(changes), []string{
		"update Secret config-lab", "  data.values.yaml: ‹redacted› -> ‹redacted› (another)",
		"create ConfigMap extra-lab",
		"update Deployment app-lab", "  spec.replicas: 1 -> 2", `  spec.template.spec.containers[app].env[EXTRA]: none -> {"name":"EXTRA","value":"1"}`,
	}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if _, err := b.helm.Upgrade(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	b.in(t, two)
	b.cluster.Kubectl("scale", "deployment", "app-lab", "--replicas=3", "-n", b.namespace)
	changes, err = b.helm.Diff(t.Context(), two)
	if d := cmp.Diff(lines(changes), []string{"update Deployment app-lab", "  spec.replicas: 3 -> 2"}); d != "" || err != nil {
		t.Errorf("%v; got -, want +:\n%s", err, d)
	}
	if _, err := b.helm.Rollback(t.Context(), "lab", 1); err != nil {
		t.Fatal(err)
	}
	b.in(t, one)
	all, err := b.helm.List(t.Context(), "sample", false)
	if err != nil || len(all) != 1 || all[0].Revision != 3 || all[0].AppVersion != "1.2.3" {
		t.Errorf("got %+v (%v), want the third revision", all, err)
	}
	kept, err := b.helm.Uninstall(t.Context(), "lab")
	if err != nil || len(kept) != 1 || kept[0].Kind != "PersistentVolumeClaim" {
		t.Errorf("got %v (%v), want that the volume is kept", kept, err)
	}
	const volume = "persistentvolumeclaim/data-lab"
	if got := b.leftBesides(t, "lab", volume); got != volume {
		t.Errorf("got %s, want %s", got, volume)
	}
	if _, err := b.helm.Uninstall(t.Context(), "lab"); err != nil {
		t.Errorf("got %v for a second uninstall, want that nothing is to do", err)
	}
	if _, err := b.helm.Install(t.Context(), one); err != nil {
		t.Errorf("got %v, want a second life on the kept volume", err)
	}
	b.in(t, one)
}

func TestForeignObjectsAreNotAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cluster.Kubectl("create", "configmap", "extra-lab", "-n", b.namespace)
	want := named("lab", map[string]any{"extra": true})
	if got := verbs(t, b, want); len(got) < 2 || got[1] != "foreign ConfigMap extra-lab" {
		t.Errorf("got %q, want that the ConfigMap is foreign", got)
	}
	if _, err := b.helm.Install(t.Context(), want); err == nil || !strings.Contains(err.Error(), "extra-lab") {
		t.Errorf("got %v, want that it is in the way", err)
	}
	if _, err := b.helm.Uninstall(t.Context(), "lab"); err != nil {
		t.Error(err)
	}
	b.cluster.Kubectl("get", "configmap", "extra-lab", "-n", b.namespace)
}

func TestImmutableFieldIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.helm.Install(t.Context(), named("lab", nil)); err != nil {
		t.Fatal(err)
	}
	b.cluster.Kubectl("delete", "pvc", "data-lab", "-n", b.namespace)
	b.cluster.Kubectl("create", "-n", b.namespace, "-f", bigger(t, b.namespace))
	changes, err := b.helm.Diff(t.Context(), named("lab", nil))
	if err != nil || len(changes) != 1 || changes[0].Verb != helm.Replace || changes[0].Reason == "" {
		t.Fatalf("got %+v (%v), want that the volume had to be replaced", changes, err)
	}
}

func verbs(t *testing.T, b bench, want helm.Release) []string {
	t.Helper()
	changes, err := b.helm.Diff(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Verb)+" "+c.Object.String())
	}
	return out
}

func lines(changes []helm.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Verb)+" "+c.Object.String())
		for _, d := range c.Drift {
			out = append(out, fmt.Sprintf("  %s: %s -> %s", d.Path, d.Have, d.Want))
		}
	}
	return out
}

// bigger returns a file with the release's volume claim, for re-creation by another client.
func bigger(t *testing.T, namespace string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/bigger.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bigger.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "PLACE", namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
