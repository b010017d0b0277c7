package k8s

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Remains lists what the chart has made and no release of Helm's takes along: what was
// applied without Helm, and what is left where the release or its namespace is gone.
func (t *Target) Remains(ctx context.Context) ([]resource.Found, error) {
	_, release, err := t.newRelease().lookUp(ctx)
	if err != nil {
		return nil, err
	}
	home, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	bound, err := t.newInventory().boundNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	var out []resource.Found
	for _, k := range chartKinds() {
		for _, ns := range t.newInventory().namespacesOf(k, home, bound) {
			list, err := t.newInventory().listKind(ctx, k, ns)
			if err != nil {
				return nil, err
			}
			for _, o := range list {
				if t.newInventory().isLeftover(k, o, release.Exists()) {
					out = append(out, resource.Found{Kind: k.kind, ID: t.newInventory().idOf(k, o), Name: t.newInventory().idOf(k, o)})
				}
			}
		}
	}
	return out, nil
}

// namespacesOf are the namespaces in which a kind is looked for; "" is none.
func (t inventory) namespacesOf(k chartKind, home bool, bound []string) []string {
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

// boundNamespaces are the namespaces besides the cluster's own in which its master was given a
// role: those of tasks, by whatever setting.
func (t inventory) boundNamespaces(ctx context.Context) ([]string, error) {
	out := []string{taskNamespaceOf(t.Namespace, t.Cluster)}
	all, err := t.listKind(ctx, chartKind{of: roleBindings()}, "")
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if ns := b.GetNamespace(); ns != t.Namespace && t.isSubject(b) && !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	return out, nil
}

// isSubject reports whether a RoleBinding is for an account of the cluster's namespace.
func (t inventory) isSubject(b unstructured.Unstructured) bool {
	subjects, _, _ := unstructured.NestedSlice(b.Object, "subjects")
	return slices.ContainsFunc(subjects, func(s any) bool {
		one, _ := s.(map[string]any)
		return one["namespace"] == t.Namespace
	})
}

// listKind lists what carries the cluster's mark. Where Kubernetes knows no such kind, or
// does not let us look, there is nothing that we could remove; Unseen names those.
func (t inventory) listKind(ctx context.Context, k chartKind, ns string) ([]unstructured.Unstructured, error) {
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

// isLeftover is pure: whether an object is the chart's, and this cluster's rather than one
// of the same name in another namespace, and does not go with the release.
func (t inventory) isLeftover(k chartKind, o unstructured.Unstructured, released bool) bool {
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

func (t inventory) idOf(k chartKind, o unstructured.Unstructured) string {
	if k.wide {
		return o.GetName()
	}
	return t.idIn(o.GetNamespace(), o.GetName())
}

// Unseen names the kinds that may not be listed, so that what is left of them is not
// known.
func (t *Target) Unseen(ctx context.Context) ([]string, error) {
	home, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, k := range chartKinds() {
		for _, ns := range t.newInventory().namespacesOf(k, home, nil) {
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
	_, release, err := t.newRelease().lookUp(ctx)
	if err != nil || release.Exists() {
		return false, err
	}
	d, err := t.newPlace().readDeployment(ctx)
	if cloud.KindOf(err) == cloud.Denied {
		return false, nil // a user who may not see it may not change it either
	}
	return err == nil && d != nil && d.Annotations[releaseName] == "", err
}

// NamespaceGone reports whether the cluster's namespace is not there, and its record
// with it.
func (t *Target) NamespaceGone(ctx context.Context) (bool, error) {
	there, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	return err == nil && !there, err
}
