package k8s

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
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
		{kind: "role-binding", of: bindings(), strewn: true},
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

func bindings() schema.GroupVersionResource {
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

// Remains lists what the chart has made and no release of Helm's takes along: what was
// applied without Helm, and what is left where the release or its namespace is gone.
func (t *Target) Remains(ctx context.Context) ([]resource.Found, error) {
	_, release, err := t.release().look(ctx)
	if err != nil {
		return nil, err
	}
	home, err := t.namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	bound, err := t.bound(ctx)
	if err != nil {
		return nil, err
	}
	var out []resource.Found
	for _, k := range chartKinds() {
		for _, ns := range t.places(k, home, bound) {
			list, err := t.list(ctx, k, ns)
			if err != nil {
				return nil, err
			}
			for _, o := range list {
				if t.remains(k, o, release.Exists()) {
					out = append(out, resource.Found{Kind: k.kind, ID: t.idOf(k, o), Name: t.idOf(k, o)})
				}
			}
		}
	}
	return out, nil
}

// places are the namespaces in which a kind is looked for; "" is none.
func (t *Target) places(k chartKind, home bool, bound []string) []string {
	var out []string
	if k.wide {
		return []string{""}
	}
	if home {
		out = append(out, t.Namespace)
	}
	if k.strewn {
		out = append(out, bound...)
	}
	return out
}

// bound are the namespaces besides the cluster's own in which its master was given a
// role: those of tasks, whoever named them.
func (t *Target) bound(ctx context.Context) ([]string, error) {
	out := []string{taskNamespaceOf(t.Namespace, t.Cluster)}
	all, err := t.list(ctx, chartKind{of: bindings()}, "")
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if ns := b.GetNamespace(); ns != t.Namespace && t.subject(b) && !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	return out, nil
}

// subject reports whether a RoleBinding is for an account of the cluster's namespace.
func (t *Target) subject(b unstructured.Unstructured) bool {
	subjects, _, _ := unstructured.NestedSlice(b.Object, "subjects")
	return slices.ContainsFunc(subjects, func(s any) bool {
		one, _ := s.(map[string]any)
		return one["namespace"] == t.Namespace
	})
}

// list lists what carries the cluster's mark. Where Kubernetes knows no such kind, or
// does not let us look, there is nothing that we could remove; Unseen names those.
func (t *Target) list(ctx context.Context, k chartKind, ns string) ([]unstructured.Unstructured, error) {
	api, err := t.Kube.Objects(k.of, ns)
	if err != nil {
		return nil, err
	}
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + t.Cluster})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.refuseIn(ns, "list", k.of.Resource, "", err)
	}
	return list.Items, nil
}

// remains is pure: whether an object is the chart's, and this cluster's rather than one
// of the same name in another namespace, and does not go with the release.
func (t *Target) remains(k chartKind, o unstructured.Unstructured, released bool) bool {
	labels, a := o.GetLabels(), o.GetAnnotations()
	_, task := labels[taskLabel]
	switch {
	case labels[clusterLabel] != t.Cluster, task, metav1.GetControllerOf(&o) != nil:
		return false
	case k.kind == kindSecret && (o.GetName() == secretsPrefix+t.Cluster || o.GetName() == recordPrefix+t.Cluster):
		return false // they have kinds of their own, or go last
	case labels[component] == componentUpgrade:
		return false
	case a[releaseName] != "":
		return a[releaseName] == t.Cluster && a[releaseNamespace] == t.Namespace && !released
	case k.wide:
		return isWide(o.GetName(), t.Namespace, t.Cluster)
	}
	return true
}

// isWide reports whether the chart gives a name to an object of the whole cluster of
// Kubernetes, for a cluster in a namespace.
func isWide(name, namespace, cluster string) bool {
	rest, found := strings.CutPrefix(name, "determined-"+namespace+"-"+cluster)
	return found && (rest == "" || rest == prioritySuffix || strings.HasPrefix(rest, "-coscheduler"))
}

// prioritySuffix ends the name of the PriorityClass.
const prioritySuffix = "-system"

func (t *Target) idOf(k chartKind, o unstructured.Unstructured) string {
	if k.wide {
		return o.GetName()
	}
	return t.id(o.GetNamespace(), o.GetName())
}

// chartRemover deletes objects of a kind of the chart.
func (t *Target) chartRemover(k chartKind, ns string) remover {
	if k.wide {
		ns = ""
	}
	return t.dynamicRemover(k.of, ns)
}

// Unseen names the kinds that may not be listed, so that nobody can say what is left of
// them.
func (t *Target) Unseen(ctx context.Context) ([]string, error) {
	home, err := t.namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, k := range chartKinds() {
		for _, ns := range t.places(k, home, nil) {
			api, err := t.Kube.Objects(k.of, ns)
			if err != nil {
				return nil, err
			}
			if _, err := api.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) {
				out = append(out, k.of.Resource)
			}
		}
	}
	return out, nil
}

// Applied reports whether the cluster's master is there and was made by no release of
// Helm's: by kubectl, or by a tool that renders charts.
func (t *Target) Applied(ctx context.Context) (bool, error) {
	_, release, err := t.release().look(ctx)
	if err != nil || release.Exists() {
		return false, err
	}
	d, err := t.deployment(ctx)
	if cloud.KindOf(err) == cloud.Denied {
		return false, nil // whoever may not see it may not change it either
	}
	return err == nil && d != nil && d.Annotations[releaseName] == "", err
}

// NamespaceGone reports whether the cluster's namespace is not there, and its record
// with it.
func (t *Target) NamespaceGone(ctx context.Context) (bool, error) {
	there, err := t.namespaceExists(ctx, t.Namespace)
	return err == nil && !there, err
}
