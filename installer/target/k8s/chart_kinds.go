package k8s

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// chartKind is a kind of which the chart makes objects that hold no data.
type chartKind struct {
	// kind is the inventory's word.
	kind string
	of   schema.GroupVersionResource
	// wide is true for objects of the whole cluster of Kubernetes, and strewn for
	// those that are in namespaces of tasks too.
	wide, strewn bool
}

// chartKinds lists them, those that others need first.
func chartKinds() []chartKind {
	of := func(group, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	}
	const rbac = "rbac.authorization.k8s.io"
	return []chartKind{
		{kind: "priority-class", of: of("scheduling.k8s.io", "priorityclasses"), wide: true},
		{kind: "cluster-role", of: of(rbac, "clusterroles"), wide: true},
		{kind: "cluster-role-binding", of: of(rbac, "clusterrolebindings"), wide: true},
		{kind: "service-account", of: of("", "serviceaccounts"), strewn: true},
		{kind: "role", of: of(rbac, "roles"), strewn: true},
		{kind: "role-binding", of: roleBindings(), strewn: true},
		{kind: kindSecret, of: of("", "secrets")},
		{kind: "config-map", of: of("", "configmaps")},
		{kind: "network-policy", of: of("networking.k8s.io", "networkpolicies")},
		{kind: "service", of: of("", "services")},
		{kind: "ingress", of: of("networking.k8s.io", "ingresses")},
		{kind: "route", of: of("route.openshift.io", "routes")},
		{kind: "pod", of: of("", "pods")},
		{kind: "job", of: of("batch", "jobs")},
		{kind: "replica-set", of: of("apps", "replicasets")},
		{kind: "deployment", of: of("apps", "deployments")},
	}
}

func roleBindings() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
}

// kindsOfChart are the inventory's words, without that for Secrets, which it has anyway.
func kindsOfChart() []string {
	var out []string
	for _, k := range chartKinds() {
		if k.kind != kindSecret {
			out = append(out, k.kind)
		}
	}
	return out
}
