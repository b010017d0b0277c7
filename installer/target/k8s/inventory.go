package k8s

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The kinds of objects in the inventory.
const (
	kindClaim    = "claim"
	kindSnapshot = "snapshot"
	kindSecret   = "secret"
	kindRelease  = "release"
	kindErrand   = "errand"
	kindToken    = "task-secret"
	kindPod      = "task-pod"
	kindJob      = "task-job"
	kindMaster   = "master"
	kindTasks    = "task-namespace"
)

// The reasons why objects outlive `uninstall`.
const (
	holdsData   = "holds the cluster's data"
	holdsBackup = "holds backups of the cluster's data"
	opensData   = "opens the cluster's data"
	holdsClaims = "holds volume claims, with checkpoints or of users"
)

// inventory lists and deletes the objects of a cluster.
type inventory struct {
	waiter
	release *release
	// spaces are the namespaces in which the cluster's tasks may run, its own first.
	spaces []string
	// unread is Target.Unread.
	unread bool
}

// Kinds returns the kinds in dependency order. Deletion is in reverse order: the master stops
// before any object of its tasks is deleted, and disks are deleted when no pod mounts them.
func (t *Target) Kinds() []string {
	return slices.Concat(
		[]string{kindTasks, kindClaim, kindSnapshot, kindSecret}, kindsOfChart(),
		[]string{kindRelease, kindErrand, kindToken, kindPod, kindJob, kindMaster},
	)
}

// Inventory lists the release, the objects that outlive it, and the objects that the master created
// for tasks, in the namespaces of the cluster and of its tasks. If the cluster is to be deleted, it
// also lists objects that Helm does not delete, even if the namespace is missing.
func (t *Target) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	there, err := t.newPlace().namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	in := t.newInventory()
	var parts []func(context.Context) ([]resource.Found, error)
	if there {
		parts = append(parts, in.listRelease, func(ctx context.Context) ([]resource.Found, error) { return in.listKept(ctx, cluster) })
	}
	parts = append(parts, in.listTaskNamespace, func(ctx context.Context) ([]resource.Found, error) { return in.listAllTasks(ctx, cluster, there) })
	if t.Unread {
		parts = append(parts, func(ctx context.Context) ([]resource.Found, error) {
			_, release, err := in.release.lookUp(ctx)
			if err != nil {
				return nil, err
			}
			return t.chartRemains(ctx, there, release.Exists())
		})
	}
	var out []resource.Found
	for _, list := range parts {
		found, err := list(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// listAllTasks lists the objects that the master created for tasks, in all namespaces. Home is
// false if the cluster's own namespace does not exist.
func (t inventory) listAllTasks(ctx context.Context, cluster string, home bool) ([]resource.Found, error) {
	spaces := slices.Clone(t.spaces)
	if t.unread { // values may be lost, or never have been Helm's
		bound, err := t.boundNamespaces(ctx)
		if err != nil {
			return nil, err
		}
		spaces = append(spaces, slices.DeleteFunc(bound, func(ns string) bool { return slices.Contains(spaces, ns) })...)
	}
	var out []resource.Found
	for _, ns := range spaces {
		if ns == t.Namespace && !home {
			continue
		}
		tasks, err := t.listTasks(ctx, ns, cluster)
		if err != nil {
			return nil, err
		}
		out = append(out, tasks...)
	}
	return out, nil
}

// listRelease lists the release and its running master.
func (t inventory) listRelease(ctx context.Context) ([]resource.Found, error) {
	var out []resource.Found
	_, have, err := t.release.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	if have.Exists() {
		out = append(out, have)
	}
	if !t.unread {
		return out, nil
	}
	// The Deployment is deleted with the release, but the master has to stop before that.
	d, err := t.readDeployment(ctx)
	if err == nil && d != nil && !isStopped(d) {
		out = append(out, resource.Found{Kind: kindMaster, ID: d.Name, Name: d.Name})
	}
	return out, err
}

// listKept lists the objects that outlive the release, and the errands that an interrupted run left
// behind.
func (t inventory) listKept(ctx context.Context, cluster string) ([]resource.Found, error) {
	o := metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster}
	var out []resource.Found
	claims, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).List(ctx, o)
	if err != nil {
		return nil, t.explainError("list", "persistentvolumeclaims", "", err)
	}
	for _, c := range claims.Items {
		why := holdsData
		if c.Labels[component] == componentBackup {
			why = holdsBackup
		}
		out = t.addObject(out, kindClaim, &c.ObjectMeta, why)
	}
	snapshots, err := t.listSnapshots(ctx, cluster)
	if err != nil {
		return nil, err
	}
	out = append(out, snapshots...)
	secrets, err := t.API.CoreV1().Secrets(t.Namespace).List(ctx, o)
	if err != nil {
		return nil, t.explainError("list", "secrets", "", err)
	}
	for _, s := range secrets.Items {
		if s.Name == secretsPrefix+cluster {
			out = t.addObject(out, kindSecret, &s.ObjectMeta, opensData)
		}
	}
	jobs, err := t.listErrands(ctx)
	return append(out, jobs...), err
}

// listErrands lists the errands that an interrupted run left behind. Their Secrets are deleted with them.
func (t inventory) listErrands(ctx context.Context) ([]resource.Found, error) {
	jobs, err := t.API.BatchV1().Jobs(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: clusterLabel + "=" + t.Cluster + "," + component + "=" + componentUpgrade,
	})
	if err != nil {
		return nil, t.explainError("list", "jobs", "", err)
	}
	var out []resource.Found
	for _, j := range jobs.Items {
		out = t.addObject(out, kindErrand, &j.ObjectMeta, "")
	}
	return out, nil
}

// listTaskNamespace returns the namespace of tasks if the release created it. It is retained if it
// contains claims, which belong to users.
func (t inventory) listTaskNamespace(ctx context.Context) ([]resource.Found, error) {
	name := taskNamespaceOf(t.Namespace, t.Cluster)
	ns, err := t.API.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.refuseIn("", "get", "namespaces", name, err)
	}
	a := ns.Annotations
	ours := a[releaseName] == t.Cluster && a[releaseNamespace] == t.Namespace || a[releaseName] == "" // applied without Helm
	if !ours || ns.Labels[clusterLabel] != t.Cluster {
		return nil, nil
	}
	claims, err := t.API.CoreV1().PersistentVolumeClaims(name).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, t.refuseIn(name, "list", "persistentvolumeclaims", "", err)
	}
	// `up` ignores it, as it does objects of tasks.
	f := resource.Found{Kind: kindTasks, ID: name, Name: name, Launched: true}
	if len(claims.Items) > 0 {
		f.Retain = holdsClaims
	}
	return []resource.Found{f}, nil
}

// listTasks lists the objects that the master created for tasks in a namespace.
func (t inventory) listTasks(ctx context.Context, ns, cluster string) ([]resource.Found, error) {
	o := metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster + "," + taskLabel}
	var out []resource.Found
	add := func(kind string, m *metav1.ObjectMeta) {
		before := len(out)
		out = t.addObject(out, kind, m, "")
		for i := range out[before:] {
			out[before+i].Launched = true
		}
	}
	jobs, err := t.API.BatchV1().Jobs(ns).List(ctx, o)
	if isClosedElsewhere(err, ns, t.Namespace) {
		return nil, nil
	}
	if err != nil {
		return nil, t.refuseIn(ns, "list", "jobs", "", err)
	}
	for _, j := range jobs.Items {
		add(kindJob, &j.ObjectMeta)
	}
	pods, err := t.API.CoreV1().Pods(ns).List(ctx, o)
	if err != nil {
		return nil, t.refuseIn(ns, "list", "pods", "", err)
	}
	for _, p := range pods.Items {
		if metav1.GetControllerOf(&p) == nil { // a Job's pods are deleted with it
			add(kindPod, &p.ObjectMeta)
		}
	}
	secrets, err := t.API.CoreV1().Secrets(ns).List(ctx, o)
	if err != nil {
		return nil, t.refuseIn(ns, "list", "secrets", "", err)
	}
	for _, s := range secrets.Items {
		if len(s.OwnerReferences) == 0 { // others are deleted with their Job
			add(kindToken, &s.ObjectMeta)
		}
	}
	return out, nil
}

// isClosedElsewhere reports that a namespace other than the cluster's is missing or forbidden. Its
// content is unknown, and the cluster's own namespace does not depend on it.
func isClosedElsewhere(err error, ns, home string) bool {
	return ns != home && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err))
}

// addObject adds an object if it has the cluster's label.
func (t inventory) addObject(fs []resource.Found, kind string, m *metav1.ObjectMeta, retain string) []resource.Found {
	if m.Labels[clusterLabel] != t.Cluster {
		return fs
	}
	return append(fs, resource.Found{Kind: kind, ID: t.idIn(m.Namespace, m.Name), Name: t.idIn(m.Namespace, m.Name), Retain: retain})
}

// taskNamespaces returns the namespaces of the cluster's tasks, its own first.
func (t *Target) taskNamespaces() []string {
	out := []string{t.Namespace}
	also := func(v any) {
		if ns, ok := v.(string); ok && ns != "" && !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	also(taskNamespaceOf(t.Namespace, t.Cluster))
	if ns, ok := t.Values.Get("resourceManager.defaultNamespace"); ok {
		also(ns)
	}
	pools, _ := t.Values.Get("resourcePools")
	list, _ := pools.([]any)
	for _, p := range list {
		if pool, ok := p.(map[string]any); ok {
			also(pool["kubernetes_namespace"])
		}
	}
	return out
}

// snapshotResource returns the resource of VolumeSnapshots, which the chart creates if
// db.snapshotSuffix is set. It is optional in Kubernetes.
func snapshotResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
}

// listSnapshots lists the snapshots of the cluster's data. It returns none if the resource is
// missing or forbidden, because they could not be deleted either.
func (t inventory) listSnapshots(ctx context.Context, cluster string) ([]resource.Found, error) {
	api, err := t.Kube.Objects(snapshotResource(), t.Namespace)
	if err != nil {
		return nil, err
	}
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.explainError("list", "volumesnapshots", "", err)
	}
	var out []resource.Found
	for _, s := range list.Items {
		out = t.addObject(out, kindSnapshot, &metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: s.GetName(), Labels: s.GetLabels()}, holdsBackup)
	}
	return out, nil
}
