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

// Remains lists the objects that no Helm release deletes: those of the chart that were applied without
// Helm or left behind by a deleted release or namespace, and the Jobs of an interrupted upgrade whose
// release was deleted.
func (t *Target) Remains(ctx context.Context) ([]resource.Found, error) {
	_, release, err := t.newRelease().lookUp(ctx)
	if err != nil {
		return nil, err
	}
	home, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	out, err := t.chartRemains(ctx, home, release.Exists())
	if err != nil || !home || release.Exists() {
		return out, err
	}
	jobs, err := t.newInventory().listErrands(ctx)
	return append(out, jobs...), err
}

// chartRemains lists the chart's objects that no Helm release deletes. Home reports whether the cluster's
// own namespace exists, and released whether it has a release.
func (t *Target) chartRemains(ctx context.Context, home, released bool) ([]resource.Found, error) {
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
				if t.newInventory().isLeftover(k, o, released) {
					out = append(out, resource.Found{Kind: k.kind, ID: t.newInventory().idOf(k, o), Name: t.newInventory().idOf(k, o)})
				}
			}
		}
	}
	return out, nil
}

// namespacesOf returns the namespaces in which to look for a kind, or "" for cluster-scoped
// objects.
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

// boundNamespaces returns the other namespaces in which the cluster's master has a role. They are
// those of tasks, even if the settings are lost.
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

// isSubject reports whether a RoleBinding is for a service account of the cluster's namespace.
func (t inventory) isSubject(b unstructured.Unstructured) bool {
	subjects, _, _ := unstructured.NestedSlice(b.Object, "subjects")
	return slices.ContainsFunc(subjects, func(s any) bool {
		one, _ := s.(map[string]any)
		return one["namespace"] == t.Namespace
	})
}

// listKind lists the objects with the cluster's label. It returns none if the kind is missing or
// forbidden, because they could not be deleted either; Unseen names those kinds.
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

// isLeftover reports whether an object belongs to this cluster's chart, as opposed to a cluster of
// the same name in another namespace, and is not deleted with the release. It is pure.
func (t inventory) isLeftover(k chartKind, o unstructured.Unstructured, released bool) bool {
	labels, a := o.GetLabels(), o.GetAnnotations()
	_, task := labels[taskLabel]
	switch {
	case labels[clusterLabel] != t.Cluster, task, metav1.GetControllerOf(&o) != nil:
		return false
	case k.kind == kindSecret && (o.GetName() == secretsPrefix+t.Cluster || o.GetName() == recordPrefix+t.Cluster):
		return false // they are listed as other kinds, or deleted last
	case labels[component] == componentUpgrade:
		return false // they are listed as errands
	case a[releaseName] != "":
		return a[releaseName] == t.Cluster && a[releaseNamespace] == t.Namespace && !released
	case k.wide:
		return isWide(o.GetName(), t.Namespace, t.Cluster)
	}
	return true
}

// isWide reports whether name is one that the chart gives to a cluster-scoped object of a cluster
// in a namespace.
func isWide(name, namespace, cluster string) bool {
	rest, found := strings.CutPrefix(name, "determined-"+namespace+"-"+cluster)
	return found && (rest == "" || rest == prioritySuffix || strings.HasPrefix(rest, "-coscheduler"))
}

// prioritySuffix is the suffix of the PriorityClass's name.
const prioritySuffix = "-system"

func (t inventory) idOf(k chartKind, o unstructured.Unstructured) string {
	if k.wide {
		return o.GetName()
	}
	return t.idIn(o.GetNamespace(), o.GetName())
}

// Unseen returns the kinds that exist and may not be listed, whose leftovers are unknown.
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
			if _, err := api.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) && t.Kube.Serves(ctx, k.of) {
				out = append(out, k.of.Resource)
			}
		}
	}
	return out, nil
}

// Applied reports whether the cluster's master exists without a Helm release, as when it was
// applied by kubectl or a tool that renders charts.
func (t *Target) Applied(ctx context.Context) (bool, error) {
	_, release, err := t.newRelease().lookUp(ctx)
	if err != nil || release.Exists() {
		return false, err
	}
	d, err := t.newPlace().readDeployment(ctx)
	if cloud.KindOf(err) == cloud.Denied {
		return false, nil // a user who may not read it may not change it either
	}
	return err == nil && d != nil && d.Annotations[releaseName] == "", err
}

// NamespaceGone reports whether the cluster's namespace, and its record with it, does not exist.
func (t *Target) NamespaceGone(ctx context.Context) (bool, error) {
	there, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	return err == nil && !there, err
}
