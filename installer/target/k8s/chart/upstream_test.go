package chart_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
)

// sameThere returns the values of the chart of Determined 0.38.1, or the prefixes of their paths,
// that have the same effect here.
func sameThere() []string {
	return []string{
		"imageRegistry", "defaultImages.cpuImage", "defaultImages.gpuImage", "defaultImages.rocmImage", "imagePullSecretName", "logLevel", "logColor",
		"masterPort", "externalCaCertSecretName", "useNodePortForMaster", "loadBalancerSourceRanges", "masterService.annotations", "openshiftRoute.",
		"tlsSecret", "security.defaultTask.", "security.authz.type", "db.", "checkpointStorage.", "maxSlotsPerPod", "slotType", "slotResourceRequests.cpu",
		"masterCpu", "masterMem", "taskContainerDefaults.", "observability.enable_prometheus", "clusterName", "initialUserPassword", "defaultPassword",
		"logging.type", "resourcePools", "defaultAuxResourcePool", "defaultComputeResourcePool", "determinedMaster", "retentionPolicy.logRetentionDays",
		"resourceManager.",
	}
}

// elsewhere returns examples of values of that chart that have another effect here, and notHere of
// those that are rejected.
func elsewhere() map[string]any {
	return map[string]any{
		"detVersion": "0.38.1", "defaultImages.postgreSQL": "postgres:10.14", "defaultImages.kubeScheduler": "k8s.gcr.io/scheduler-plugins/kube-scheduler:v0.18.9",
		"createNonNamespacedObjects": false, "telemetry.enabled": true, "tensorboardTimeout": 300, "notebookTimeout": 600,
		"taskContainerDefaults.logPolicies": []any{}, "security.token": tree{},
		"defaultImages.kubeSchedulerPreemption": "determinedai/kube-scheduler:0.17.0", "resourcePools": []any{tree{"pool_name": "a", "kubernetes_namespace": "x"}},
		"db.memRequest": 2, "db.memLimit": "512m", "masterMemRequest": 4.0, "checkpointStorage.storageSize": "100",
		"retentionPolicy.schedule": "24h", "defaultScheduler": "preemption", "db.snapshotSuffix": "monday",
	}
}

func notHere() map[string]any {
	return map[string]any{
		"enterpriseEdition": true, "oidc": tree{"enabled": true}, "scim": tree{"enabled": true}, "saml": tree{"enabled": true},
		"additional_resource_managers": []any{tree{}},
	}
}

// at returns a document with a value at a path.
func at(path string, value any) chart.Values {
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i > 0; i-- {
		value = tree{keys[i]: value}
	}
	return chart.Values{keys[0]: value}
}

// Users of a Determined values file get a message about each key whose effect is different here.
func TestEveryValueOfDeterminedIsHandled(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../../test/chart/testdata/upstream.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file chart.Values
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	told, refused := elsewhere(), notHere()
	for _, path := range leaves("", file) {
		_, isTold := told[path]
		top, _, _ := strings.Cut(path, ".")
		_, isRefused := refused[top]
		isSame := slices.ContainsFunc(sameThere(), func(p string) bool { return path == p || strings.HasPrefix(path, p) })
		if !isTold && !isRefused && !isSame {
			t.Errorf("%s is not known: say whether it does here what it does there", path)
		}
	}
	for path, value := range told {
		if got := chart.OtherEffects(at(path, value)); len(got) != 1 || !strings.Contains(got[0], path) {
			t.Errorf("%s: got %q, want a sentence", path, got)
		}
	}
	for key, value := range refused {
		r := helm.Release{Name: "lab", Namespace: "ml", Chart: templates.Chart("v1"), Values: chart.Values{"imageRegistry": "", "maxSlotsPerPod": 1, key: value}}
		if _, err := helm.Render(r, helm.NoServer()); err == nil {
			t.Errorf("%s: got it taken, want it refused", key)
		}
	}
	if got := chart.OtherEffects(chart.Values{"maxSlotsPerPod": 1, "defaultImages": tree{"postgreSQL": "postgres:16"}, "telemetry": tree{"enabled": false}, "db": tree{"memRequest": "8Gi", "storageSize": 1 << 30}, "resourcePools": []any{tree{"pool_name": "a"}}}); len(got) != 0 {
		t.Errorf("got %q, want nothing of values that are the same", got)
	}
}

// leaves returns the paths of a document's values.
func leaves(under string, v map[string]any) []string {
	var out []string
	for key, value := range v {
		path := strings.TrimPrefix(under+"."+key, ".")
		if below, is := value.(map[string]any); is && len(below) > 0 {
			out = append(out, leaves(path, below)...)
			continue
		}
		out = append(out, path)
	}
	return out
}
