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

func TestServiceMonitorReadsTheMetricsOfTheMaster(t *testing.T) {
	t.Parallel()
	const file = "determined/templates/monitor.yaml"
	for _, tt := range []struct {
		name, values string
		want         []string
	}{
		{"none by default", `{maxSlotsPerPod: 1}`, nil},
		{
			"with labels and an interval", `{maxSlotsPerPod: 1, serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 30s}}`,
			[]string{"kind: ServiceMonitor", `"release": "prometheus"`, `interval: "30s"`, "matchLabels: {app: determined-master-lab}", "path: /metrics"},
		},
		{"with TLS", `{maxSlotsPerPod: 1, serviceMonitor: {enabled: true}, tlsSecret: t}`, []string{"scheme: https", "insecureSkipVerify: true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, tt.values)})
			if err != nil {
				t.Fatal(err)
			}
			text := files[file]
			if len(tt.want) == 0 && strings.TrimSpace(text) != "" {
				t.Errorf("got %s, want nothing", text)
			}
			for _, part := range tt.want {
				if !strings.Contains(text, part) {
					t.Errorf("got %s\nwant %q in it", text, part)
				}
			}
		})
	}
}
