package k8s

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The kinds of the inventory.
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

// Why things outlive `uninstall`.
const (
	holdsData   = "holds the cluster's data"
	holdsBackup = "holds backups of the cluster's data"
	opensData   = "opens the cluster's data"
	holdsClaims = "holds volume claims, with checkpoints or of users"
)

// inventory lists and removes what a cluster consists of.
type inventory struct {
	waiter
	release *release
	// spaces are the namespaces in which the cluster's tasks may run, its own first.
	spaces []string
	// unread is Target.Unread.
	unread bool
}

// Kinds has what others need first. Going the other way, the master stops before
// anything of its tasks goes, and the disks go when no pod mounts them any more.
func (t *Target) Kinds() []string {
	return slices.Concat(
		[]string{kindTasks, kindClaim, kindSnapshot, kindSecret}, kindsOfChart(),
		[]string{kindRelease, kindErrand, kindToken, kindPod, kindJob, kindMaster},
	)
}

// Inventory lists the release, what outlives it, and what the master has made for
// tasks, in the cluster's namespace and in those in which its tasks may run. Where the
// cluster is to go it lists what no release takes along, too, namespace or not.
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
		parts = append(parts, t.Remains)
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

// listAllTasks is what the master has made for tasks, everywhere. Home is false when the
// cluster's own namespace is gone.
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

// listRelease is the release and its running master.
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
	// It goes with the release; but before that, it has to stop.
	d, err := t.readDeployment(ctx)
	if err == nil && d != nil && !isStopped(d) {
		out = append(out, resource.Found{Kind: kindMaster, ID: d.Name, Name: d.Name})
	}
	return out, err
}

// listKept is what outlives the release, and the errands that a killed run left.
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
	jobs, err := t.API.BatchV1().Jobs(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: o.LabelSelector + "," + component + "=" + componentUpgrade,
	})
	if err != nil {
		return nil, t.explainError("list", "jobs", "", err)
	}
	for _, j := range jobs.Items {
		out = t.addObject(out, kindErrand, &j.ObjectMeta, "")
	}
	return out, nil
}

// listTaskNamespace is the namespace of tasks, where the release made it. Claims in it are
// its users': with them it stays.
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
	// An up that finds it leaves it alone, as it does what tasks have.
	f := resource.Found{Kind: kindTasks, ID: name, Name: name, Launched: true}
	if len(claims.Items) > 0 {
		f.Retain = holdsClaims
	}
	return []resource.Found{f}, nil
}

// listTasks is what the master has made for tasks in a namespace.
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
		if metav1.GetControllerOf(&p) == nil { // a Job's pods go with it
			add(kindPod, &p.ObjectMeta)
		}
	}
	secrets, err := t.API.CoreV1().Secrets(ns).List(ctx, o)
	if err != nil {
		return nil, t.refuseIn(ns, "list", "secrets", "", err)
	}
	for _, s := range secrets.Items {
		if len(s.OwnerReferences) == 0 { // else it goes with its Job
			add(kindToken, &s.ObjectMeta)
		}
	}
	return out, nil
}

// isClosedElsewhere reports a further namespace that is gone or closed to us: what is in it
// cannot be told, and the cluster's own namespace does not depend on it.
func isClosedElsewhere(err error, ns, home string) bool {
	return ns != home && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err))
}

// addObject lists an object if it really carries the cluster's mark.
func (t inventory) addObject(fs []resource.Found, kind string, m *metav1.ObjectMeta, retain string) []resource.Found {
	if m.Labels[clusterLabel] != t.Cluster {
		return fs
	}
	return append(fs, resource.Found{Kind: kind, ID: t.idIn(m.Namespace, m.Name), Name: t.idIn(m.Namespace, m.Name), Retain: retain})
}

// taskNamespaces are the namespaces of the cluster's tasks, its own first.
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

// snapshotResource is the VolumeSnapshots, which the chart makes where db.snapshotSuffix
// asks for one. Not every Kubernetes knows them.
func snapshotResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
}

// listSnapshots are those of the cluster's data. Where Kubernetes knows none, or does
// not let us look, there are none that we could remove.
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
