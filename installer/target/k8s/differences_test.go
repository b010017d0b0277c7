package k8s

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Whatever is in the way, nobody is told to remove what holds data, and no plan does it.
func TestNobodyIsToldToRemoveWhatHoldsData(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"PersistentVolumeClaim", "Namespace", "Service"} {
		for _, verb := range []helm.Verb{helm.Foreign, helm.Replace, helm.Delete} {
			if verb == helm.Delete && kind != "PersistentVolumeClaim" {
				continue // the tasks' namespace is kept by its annotation, and a Service holds nothing
			}
			c := helm.Change{Verb: verb, Reason: "it differs", Object: helm.Object{Kind: kind, Name: "mine", Namespace: "ml"}}
			drift, err := driftOf([]helm.Change{c}, "lab")
			e, ok := errors.AsType[*cloud.Error](err)
			if !ok || len(drift) > 0 {
				t.Errorf("%s %s: got %v and %v, want a refusal", verb, kind, drift, err)
				continue
			}
			removes := strings.Contains(e.Fix, "remove it") || strings.Contains(e.Fix, "delete")
			if removes != (kind == "Service") {
				t.Errorf("%s %s: got the hint %q", verb, kind, e.Fix)
			}
		}
	}
}
