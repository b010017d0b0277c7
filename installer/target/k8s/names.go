// Package k8s installs a cluster on Kubernetes: a Helm release, the objects that outlive it, and
// the record, all in one namespace.
package k8s

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The prefixes of objects outside the release; the cluster ID follows.
const (
	recordPrefix  = "det-deploy-record-"
	secretsPrefix = "determined-secrets-"
	backupPrefix  = "determined-backup-"
)

// The prefixes of objects of the chart; the cluster ID follows.
const (
	masterPrefix   = "determined-master-deployment-"
	servicePrefix  = "determined-master-service-"
	databasePrefix = "determined-db-deployment-"
)

// The labels of a cluster's objects.
const (
	domain       = "det-deploy.dev"
	clusterLabel = domain + "/cluster"
	nameLabel    = "app.kubernetes.io/name"
	instance     = "app.kubernetes.io/instance"
	component    = "app.kubernetes.io/component"
	managedBy    = "app.kubernetes.io/managed-by"
	versionLabel = "app.kubernetes.io/version"
	// taskLabel is the label of the objects that the master creates for tasks, with the allocation
	// ID.
	taskLabel = "determined"
)

// The components of objects outside the chart.
const (
	componentRecord  = "record"
	componentUpgrade = "upgrade"
	componentBackup  = "backup"
	// componentCheck is the chart's Job that tests an image before `helm upgrade`.
	componentCheck = "check"
)

// taskNamespaceOf returns the namespace of tasks that the chart creates if the values name none.
func taskNamespaceOf(namespace, cluster string) string { return namespace + "-" + cluster + "-tasks" }

// The annotations that Helm adds to the objects of a release.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// recordType is the type of the record's Secret.
const recordType corev1.SecretType = domain + "/record"

// objectLabels returns the labels of objects that det-deploy itself creates for a cluster.
func objectLabels(cluster, part string) map[string]string {
	return map[string]string{
		nameLabel: "determined", instance: cluster, component: part,
		managedBy: "det-deploy", clusterLabel: cluster,
	}
}

// versionOfImage returns the tag of an image, which is the version of det-deploy in it.
func versionOfImage(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	at := strings.LastIndex(name, ":")
	switch {
	case at > strings.LastIndex(name, "/"):
		return name[at+1:]
	case pinned:
		return digest
	}
	return "latest"
}
