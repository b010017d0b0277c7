package k8s

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Remove deletes an object by kind and identity.
func (t *Target) Remove(ctx context.Context, f resource.Found) error {
	ns, name, other := strings.Cut(f.ID, "/")
	if !other {
		ns, name = t.Namespace, f.ID
	}
	if f.Kind == kindMaster {
		return t.newWaiter().stopMaster(ctx)
	}
	if f.Kind == kindRelease {
		return t.newRelease().Delete(ctx)
	}
	remove, found := t.newInventory().removersIn(ns)[f.Kind]
	if !found {
		return fmt.Errorf("remove %s: nothing is known of such objects", f)
	}
	foreground := metav1.DeletePropagationForeground
	err := remove.delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return t.newPlace().refuseIn(ns, "delete", remove.resource, name, err)
	}
	return t.newWaiter().awaitGone(ctx, goneLimit, f.String()+" to go", func(ctx context.Context) (string, error) {
		err := remove.look(ctx, name)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", t.newPlace().refuseIn(ns, "get", remove.resource, name, err)
		}
		return t.newPlace().describeHolders(ctx, f.Kind, ns, name)
	})
}

// remover deletes objects of one kind and checks whether they are gone.
type remover struct {
	resource string
	delete   func(context.Context, string, metav1.DeleteOptions) error
	look     func(context.Context, string) error
}

func (t inventory) removersIn(ns string) map[string]remover {
	claims, secrets, pods, jobs := t.API.CoreV1().PersistentVolumeClaims(ns), t.API.CoreV1().Secrets(ns), t.API.CoreV1().Pods(ns), t.API.BatchV1().Jobs(ns)
	claim := remover{"persistentvolumeclaims", claims.Delete, func(ctx context.Context, n string) error {
		_, err := claims.Get(ctx, n, metav1.GetOptions{})
		return err
	}}
	secret := remover{"secrets", secrets.Delete, func(ctx context.Context, n string) error {
		_, err := secrets.Get(ctx, n, metav1.GetOptions{})
		return err
	}}
	pod := remover{"pods", pods.Delete, func(ctx context.Context, n string) error { _, err := pods.Get(ctx, n, metav1.GetOptions{}); return err }}
	all := t.API.CoreV1().Namespaces()
	space := remover{"namespaces", all.Delete, func(ctx context.Context, n string) error { _, err := all.Get(ctx, n, metav1.GetOptions{}); return err }}
	job := remover{"jobs", jobs.Delete, func(ctx context.Context, n string) error { _, err := jobs.Get(ctx, n, metav1.GetOptions{}); return err }}
	out := map[string]remover{
		kindClaim: claim, kindSnapshot: t.dynamicRemover(snapshotResource(), ns), kindTasks: space, kindSecret: secret, kindToken: secret, kindPod: pod, kindJob: job, kindErrand: job,
	}
	for _, k := range chartKinds() {
		if k.kind != kindSecret {
			out[k.kind] = t.chartRemover(k, ns)
		}
	}
	return out
}

// chartRemover returns the remover of a kind of the chart.
func (t inventory) chartRemover(k chartKind, ns string) remover {
	if k.wide {
		ns = ""
	}
	return t.dynamicRemover(k.of, ns)
}

// dynamicRemover returns a remover of objects without Go types.
func (t inventory) dynamicRemover(of schema.GroupVersionResource, ns string) remover {
	return remover{of.Resource, func(ctx context.Context, name string, o metav1.DeleteOptions) error {
		api, err := t.Kube.Objects(of, ns)
		if err != nil {
			return err
		}
		return api.Delete(ctx, name, o)
	}, func(ctx context.Context, name string) error {
		api, err := t.Kube.Objects(of, ns)
		if err != nil {
			return err
		}
		_, err = api.Get(ctx, name, metav1.GetOptions{})
		return err
	}}
}

// chartKind is a kind of object of the chart that holds no data.
type chartKind struct {
	// kind is the kind in the inventory.
	kind string
	of   schema.GroupVersionResource
	// wide marks cluster-scoped objects, and strewn those that are also in namespaces of tasks.
	wide, strewn bool
}

// chartKinds returns them in dependency order.
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
		{kind: "service-monitor", of: of("monitoring.coreos.com", "servicemonitors")},
		{kind: "pod", of: of("", "pods")},
		{kind: "job", of: of("batch", "jobs")},
		{kind: "replica-set", of: of("apps", "replicasets")},
		{kind: "deployment", of: of("apps", "deployments")},
	}
}

func roleBindings() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
}

// kindsOfChart returns the kinds in the inventory, without that of Secrets, which is listed
// separately.
func kindsOfChart() []string {
	var out []string
	for _, k := range chartKinds() {
		if k.kind != kindSecret {
			out = append(out, k.kind)
		}
	}
	return out
}
