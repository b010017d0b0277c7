package chart_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
)

// OpenShift chooses the users of pods itself, and rejects pods with others.
func TestPodsHaveNoFixedUserOnOpenShift(t *testing.T) {
	t.Parallel()
	for _, openshift := range []bool{false, true} {
		server := helm.NoServer()
		if openshift {
			server.APIVersions = []string{"v1", "apps/v1", "security.openshift.io/v1"}
		}
		out, err := helm.Render(helm.Release{
			Name: "lab", Namespace: "ml", Chart: templates.Chart(version),
			Values: map[string]any{"imageRegistry": images, "maxSlotsPerPod": 1, "defaultScheduler": "coscheduler"},
		}, server)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Objects {
			if o.Kind != "Deployment" && o.Kind != "Job" {
				continue
			}
			fixed := strings.Contains(o.YAML, "runAsUser:") || strings.Contains(o.YAML, "fsGroup:")
			if fixed == openshift || !strings.Contains(o.YAML, "runAsNonRoot: true") {
				t.Errorf("OpenShift %t: got %s\nwant a fixed user: %t, and none that is root", openshift, o.YAML, !openshift)
			}
		}
	}
}
