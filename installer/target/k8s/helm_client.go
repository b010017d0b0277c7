package k8s

import (
	"log/slog"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// ChartName is what the chart calls itself in releases. Determined's own chart is
// called the same, so the mark on the objects distinguishes the two.
const ChartName = "determined"

// OpenReleases is Helm's client for the releases of det-deploy's chart: it changes no
// others. An empty namespace is c's.
func OpenReleases(c *kube.Client, namespace string, log *slog.Logger) *helm.Client {
	return helm.Open(helm.Config{Kube: c, Namespace: namespace, Log: log, Owner: &helm.Owner{Chart: ChartName, Mark: clusterLabel}})
}
