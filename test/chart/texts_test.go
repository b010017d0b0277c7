package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// looksElse returns texts that YAML parses as another type without quotes.
func looksElse() []string {
	return []string{"on", "y", "no", "null", "2026", "1e3", "0x1f", "2026-01-01", "12:30:45"}
}

// named sets every value that the chart passes to Kubernetes to a text.
func named(text string) []map[string]any {
	ref := map[string]any{"name": text, "key": text}
	texts := map[string]any{"a": text, "b": true, "c": 1e6, "gone": nil}
	common := func() map[string]any {
		return map[string]any{
			"maxSlotsPerPod": 1, "imagePullSecretName": text, "externalCaCertSecretName": text, "tlsSecret": text,
			"resourceManager": map[string]any{"defaultNamespace": text}, "initialUserPasswordExistingSecret": ref,
			"master":         map[string]any{"nodeSelector": texts, "podLabels": texts, "podAnnotations": texts, "priorityClassName": text},
			"serviceAccount": map[string]any{"annotations": texts}, "masterService": map[string]any{"annotations": texts},
			"networkPolicy": map[string]any{"masterFrom": []any{map[string]any{"podSelector": map[string]any{}}}},
		}
	}
	inside, outside, embedded := common(), common(), common()
	inside["db"] = map[string]any{
		"storageClassName": text, "passwordExistingSecret": ref, "name": text, "user": text + ", x", "claimSuffix": text,
		"snapshotSuffix": text, "snapshotClassName": text, "restoreSnapshotSuffix": text, "storageSize": "1e10", "nodeSelector": texts,
	}
	inside["ingress"] = map[string]any{"enabled": true, "className": text, "host": text, "tlsSecret": text, "annotations": texts}
	outside["db"] = map[string]any{"hostAddress": text, "passwordExistingSecret": ref, "sslMode": "verify-full", "resourceType": "configMap", "certResourceName": text, "sslRootCert": text}
	outside["openshiftRoute"] = map[string]any{"enabled": true, "host": text, "termination": "passthrough"}
	embedded["db"] = map[string]any{"type": "embedded", "existingClaim": text}
	embedded["masterMemLimit"], embedded["masterCpuLimit"], embedded["defaultScheduler"] = 8589934592.0, "1e3", "coscheduler"
	return []map[string]any{inside, outside, embedded}
}

// Names of releases and namespaces and values may look like other types.
func TestTextsAreNotConverted(t *testing.T) {
	t.Parallel()
	for _, text := range looksElse() {
		for _, values := range named(text) {
			files, err := render(t, release{name: strings.ReplaceAll(text, ":", "-"), namespace: text, values: values})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, file := range slices.Sorted(maps.Keys(files)) {
				if strings.Contains(files[file], `"gone": "null"`) {
					t.Errorf("%s: got a text of what is null in\n%s", file, files[file])
				}
				if strings.HasSuffix(file, ".yaml") {
					wantTyped(t, text+" in "+file, files[file])
				}
			}
		}
	}
}

// wantTyped decodes each object strictly into its kind, as an API server does.
func wantTyped(t *testing.T, name, text string) {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o struct {
			APIVersion string `json:"apiVersion"`
			Metadata   struct {
				Name, Namespace     string
				Labels, Annotations map[string]string
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if group == "" || group == "route.openshift.io" || group == "snapshot.storage.k8s.io" {
			continue // not a kind of the server
		}
		if _, _, err := strict.Decode([]byte(doc), nil, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A real server accepts a release named on, in a namespace named 2026.
func TestServerAcceptsUnusualNames(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	c.Namespace("2026")
	c.Namespace("2026-on-tasks")
	files, err := render(t, release{name: "on", namespace: "2026", values: map[string]any{"maxSlotsPerPod": 1}})
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl("apply", "--server-side", "--validate=strict", "--filename="+written(t, manifest(files)))
	t.Cleanup(func() {
		c.Kubectl("delete", "--ignore-not-found", "clusterrole,clusterrolebinding,priorityclass", "determined-2026-on")
	})
	if got := c.Kubectl("--namespace=2026", "get", "deployments", "--selector=det-deploy.dev/cluster=on", "-o", "name"); strings.Count(got, "deployment") < 2 {
		t.Errorf("got %s, want the master and its database", got)
	}
}
