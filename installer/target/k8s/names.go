// Package k8s puts a cluster on Kubernetes: a Helm release, what has to outlive it,
// and the record of what its owner asked for, all in one namespace.
package k8s

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The names of a cluster's objects outside its release; the cluster's id follows.
const (
	recordPrefix  = "det-deploy-record-"
	secretsPrefix = "determined-secrets-"
	backupPrefix  = "determined-backup-"
)

// The names of what the chart makes; the cluster's id follows.
const (
	masterPrefix   = "determined-master-deployment-"
	servicePrefix  = "determined-master-service-"
	databasePrefix = "determined-db-deployment-"
)

// The marks of what belongs to a cluster.
const (
	domain       = "det-deploy.dev"
	clusterLabel = domain + "/cluster"
	nameLabel    = "app.kubernetes.io/name"
	instance     = "app.kubernetes.io/instance"
	component    = "app.kubernetes.io/component"
	managedBy    = "app.kubernetes.io/managed-by"
	versionLabel = "app.kubernetes.io/version"
	// taskLabel is on what the master makes for tasks, with the allocation's id.
	taskLabel = "determined"
)

// The components that have no other home.
const (
	componentRecord  = "record"
	componentUpgrade = "upgrade"
	componentBackup  = "backup"
	// componentCheck is the chart's Job that tries an image before an upgrade by Helm.
	componentCheck = "check"
)

// taskNamespaceOf is the namespace of tasks that the chart makes where the values name
// none.
func taskNamespaceOf(namespace, cluster string) string { return namespace + "-" + cluster + "-tasks" }

// The marks that Helm puts on what it makes for a release.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// recordType distinguishes the record's Secret from others.
const recordType corev1.SecretType = domain + "/record"

// objectLabels are the labels of objects that det-deploy itself creates for a cluster.
func objectLabels(cluster, part string) map[string]string {
	return map[string]string{
		nameLabel: "determined", instance: cluster, component: part,
		managedBy: "det-deploy", clusterLabel: cluster,
	}
}

// versionOfImage is the tag of an image, which is the det-deploy in it.
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
