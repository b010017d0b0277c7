package k8s

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// No hint suggests to delete an object with data, and no plan deletes one.
func TestPlanNeverAdvisesDeletingData(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"PersistentVolumeClaim", "Namespace", "Service"} {
		for _, verb := range []helm.Verb{helm.Foreign, helm.Replace, helm.Delete} {
			if verb == helm.Delete && kind != "PersistentVolumeClaim" {
				continue // the tasks' namespace is kept by its annotation, and a Service has no data
			}
			c := helm.Change{Verb: verb, Reason: "it differs", Object: helm.Object{Kind: kind, Name: "mine", Namespace: "ml"}}
			drift, err := driftOf([]helm.Change{c}, "lab")
			e, ok := errors.AsType[*cloud.Error](err)
			if !ok || len(drift) > 0 {
				t.Errorf("%s %s: got %v and %v, want an error", verb, kind, drift, err)
				continue
			}
			removes := strings.Contains(e.Fix, "remove it") || strings.Contains(e.Fix, "delete")
			if removes != (kind == "Service") {
				t.Errorf("%s %s: got the hint %q", verb, kind, e.Fix)
			}
		}
	}
}

// Paused experiments keep the node directory that checkpointStorage named, which the level baseline
// forbids.
func TestPrivilegeLossOfNamespaceIsReported(t *testing.T) {
	t.Parallel()
	label := "metadata.labels.pod-security.kubernetes.io/enforce"
	change := func(kind, path, have, want string) []helm.Change {
		return []helm.Change{{Verb: helm.Update, Object: helm.Object{Kind: kind, Name: "ml-lab-tasks"}, Drift: []resource.Drift{{Path: path, Have: have, Want: want}}}}
	}
	for _, c := range []struct {
		name    string
		changes []helm.Change
		refused bool
	}{
		{"lower", change("Namespace", label, "privileged", "baseline"), true},
		{"higher", change("Namespace", label, "baseline", "privileged"), false},
		{"another label", change("Namespace", "metadata.labels.team", "privileged", "baseline"), false},
		{"no namespace", change("Secret", label, "privileged", "baseline"), false},
	} {
		err := losesPrivilege(c.changes)
		if (err != nil) != c.refused {
			t.Errorf("%s: got %v, want an error: %v", c.name, err, c.refused)
		}
		if e, ok := errors.AsType[*cloud.Error](err); c.refused && (!ok || !strings.Contains(e.Fix, "resourceManager.podSecurity=privileged") || !strings.Contains(e.Fix, "podSecurity=baseline")) {
			t.Errorf("%s: got %v, want both values in its hint", c.name, err)
		}
	}
}

func TestPlanListsStorageInUse(t *testing.T) {
	t.Parallel()
	storage := func(pairs ...string) chart.Values {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return chart.Values{"checkpointStorage": out}
	}
	for _, c := range []struct {
		have, want chart.Values
		says       string
	}{
		{nil, storage("type", "shared_fs"), ""},
		{storage("hostPath", "/srv"), storage("hostPath", "/srv"), ""},
		{storage("hostPath", "/srv"), storage("existingClaim", "trials"), "shared_fs /srv -> shared_fs in claim trials; experiments that exist keep shared_fs /srv, which has to stay until they are deleted"},
		{nil, storage("type", "s3", "bucket", "b", "prefix", "p"), "shared_fs -> s3 b/p; experiments that exist keep shared_fs, which has to stay until they are deleted"},
		{storage("type", "s3", "bucket", "b", "secretKey", "Hunter2"), storage("type", "gcs", "bucket", "b"), "s3 b -> gcs b; experiments that exist keep s3 b, which has to stay until they are deleted"},
	} {
		got := ""
		for _, d := range storageDrift(c.have, c.want) {
			got += d.Have + " -> " + d.Want
		}
		if got != c.says {
			t.Errorf("%v to %v: got %q, want %q", c.have, c.want, got, c.says)
		}
	}
}
