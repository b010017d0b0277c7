package helm_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// withHooks adds hooks to the sample chart: one that is kept until its next run, one that is
// deleted when it has succeeded, and one that the server rejects for some values.
func withHooks(t *testing.T, name string, values map[string]any) helm.Release {
	t.Helper()
	return withFiles(t, named(name, values), map[string]string{"templates/hooks.yaml": `
{{- range $name, $policy := dict "stays" "before-hook-creation" "goes" "before-hook-creation,hook-succeeded" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}-{{ $.Release.Name }}
  labels: {app: {{ $.Release.Name }}}
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: {{ $policy | quote }}}
data: {revision: {{ $.Release.Revision | quote }}}
{{- end }}
{{- if eq .Values.slotType "cpu" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: Not_A_Name
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "5"}
{{- end }}
`})
}

// withFiles adds files to the sample chart.
func withFiles(t *testing.T, r helm.Release, more map[string]string) helm.Release {
	t.Helper()
	files := fstest.MapFS{}
	for path, text := range more {
		files[path] = &fstest.MapFile{Mode: 0o644, Data: []byte(text)}
	}
	err := fs.WalkDir(os.DirFS("testdata/chart"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile("testdata/chart/" + path)
		files[path] = &fstest.MapFile{Mode: 0o644, Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Chart = files
	return r
}

func TestHooksRunAtTheirStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	maps := b.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace)
	if _, err := b.helm.Install(t.Context(), withHooks(t, "lab", nil)); err != nil {
		t.Fatal(err)
	}
	if left := b.left(t, "lab"); strings.Contains(left, "stays-lab") {
		t.Errorf("got %s, want no hook of an upgrade after an install", left)
	}
	for _, revision := range []string{"2", "3"} {
		if _, err := b.helm.Upgrade(t.Context(), withHooks(t, "lab", nil)); err != nil {
			t.Fatal(err)
		}
		hook, err := maps.Get(t.Context(), "stays-lab", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if data, _ := hook.Object["data"].(map[string]any); data["revision"] != revision {
			t.Errorf("got the hook of revision %v, want it made anew for %s", data["revision"], revision)
		}
		if left := b.left(t, "lab"); strings.Contains(left, "goes-lab") {
			t.Errorf("got %s, want the hook that has succeeded gone", left)
		}
	}
	refused := withHooks(t, "lab", map[string]any{"slotType": "cpu", "replicas": 2})
	_, err := b.helm.Upgrade(t.Context(), refused)
	if err == nil || !strings.Contains(err.Error(), "Not_A_Name") {
		t.Errorf("got %v, want the hook that was refused", err)
	}
	info, err := b.helm.Status(t.Context(), "lab")
	if err != nil || info.Status != helm.Failed || !strings.Contains(info.Description, "pre-upgrade hooks failed") {
		t.Errorf("got %+v (%v), want that its hooks failed", info, err)
	}
	changes := strings.Join(verbs(t, b, refused), ", ")
	if !strings.Contains(changes, "update Deployment app-lab") {
		t.Errorf("got %s, want that nothing was changed after the hook", changes)
	}
	b.in(t, deployedAfter(t, b))
}

// A snapshot of an upgrade is kept when the next upgrade, with the same snapshot name, is rejected
// for it.
func TestExistingHookIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := withFiles(t, named("lab", nil), map[string]string{"templates/hooks.yaml": `
apiVersion: v1
kind: ConfigMap
metadata:
  name: snapshot
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: hook-failed, helm.sh/resource-policy: keep}
`})
	maps := b.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace)
	if _, err := b.helm.Install(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if _, err := b.helm.Upgrade(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	taken, err := maps.Get(t.Context(), "snapshot", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.helm.Upgrade(t.Context(), want); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("got %v, want that the hook is there already", err)
	}
	left, err := maps.Get(t.Context(), "snapshot", metav1.GetOptions{})
	if err != nil || left.GetUID() != taken.GetUID() {
		t.Errorf("got %v (%v), want the hook of the first upgrade", left, err)
	}
}

// deployedAfter repeats an upgrade after a failed hook.
func deployedAfter(t *testing.T, b bench) helm.Release {
	t.Helper()
	want := withHooks(t, "lab", map[string]any{"replicas": 2})
	if _, err := b.helm.Upgrade(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	return want
}

// Helm converts errors of hooks to text; an interrupt by the user must still be recognized.
func TestAnInterruptDuringAHookIsReportedAsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := withFiles(t, named("lab", nil), map[string]string{"templates/hooks.yaml": `
apiVersion: v1
kind: Pod
metadata:
  name: endless
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  nodeSelector: {never: there}
  containers: [{name: endless, image: none}]
`})
	if _, err := b.helm.Install(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt() // calls continue, and the first wait ends
	if _, err := b.helm.Upgrade(wait.Outlive(ctx), want); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "hook endless") {
		t.Errorf("got %v, want an interrupt while hook endless is waited for", err)
	}
}
