package k8s

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	holdsClaims = "holds volume claims of users"
)

// Kinds has what others need first. Going the other way, the master stops before
// anything of its tasks goes, and the disks go when nobody has them any more.
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
	there, err := t.namespaceExists(ctx, t.Namespace)
	if err != nil {
		return nil, err
	}
	var parts []func(context.Context) ([]resource.Found, error)
	if there {
		parts = append(parts, t.ofRelease, func(ctx context.Context) ([]resource.Found, error) { return t.kept(ctx, cluster) })
	}
	parts = append(parts, t.madeForTasks, func(ctx context.Context) ([]resource.Found, error) { return t.ofAllTasks(ctx, cluster, there) })
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

// ofAllTasks is what the master has made for tasks, everywhere. Home is false when the
// cluster's own namespace is gone.
func (t *Target) ofAllTasks(ctx context.Context, cluster string, home bool) ([]resource.Found, error) {
	spaces := t.namespaces()
	if t.Unread { // values may be lost, or never have been Helm's
		bound, err := t.bound(ctx)
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
		tasks, err := t.ofTasks(ctx, ns, cluster)
		if err != nil {
			return nil, err
		}
		out = append(out, tasks...)
	}
	return out, nil
}

// ofRelease is the release and its running master.
func (t *Target) ofRelease(ctx context.Context) ([]resource.Found, error) {
	var out []resource.Found
	_, have, err := t.release().look(ctx)
	if err != nil {
		return nil, err
	}
	if have.Exists() {
		out = append(out, have)
	}
	if !t.Unread {
		return out, nil
	}
	// It goes with the release; but before that, it has to stop.
	d, err := t.deployment(ctx)
	if err == nil && d != nil && !stopped(d) {
		out = append(out, resource.Found{Kind: kindMaster, ID: d.Name, Name: d.Name})
	}
	return out, err
}

// kept is what outlives the release, and the errands that a killed run left.
func (t *Target) kept(ctx context.Context, cluster string) ([]resource.Found, error) {
	o := metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster}
	var out []resource.Found
	claims, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).List(ctx, o)
	if err != nil {
		return nil, t.refuse("list", "persistentvolumeclaims", "", err)
	}
	for _, c := range claims.Items {
		why := holdsData
		if c.Labels[component] == componentBackup {
			why = holdsBackup
		}
		out = t.add(out, kindClaim, &c.ObjectMeta, why)
	}
	snapshots, err := t.keptSnapshots(ctx, cluster)
	if err != nil {
		return nil, err
	}
	out = append(out, snapshots...)
	secrets, err := t.API.CoreV1().Secrets(t.Namespace).List(ctx, o)
	if err != nil {
		return nil, t.refuse("list", "secrets", "", err)
	}
	for _, s := range secrets.Items {
		if s.Name == secretsPrefix+cluster {
			out = t.add(out, kindSecret, &s.ObjectMeta, opensData)
		}
	}
	jobs, err := t.API.BatchV1().Jobs(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: o.LabelSelector + "," + component + "=" + componentUpgrade,
	})
	if err != nil {
		return nil, t.refuse("list", "jobs", "", err)
	}
	for _, j := range jobs.Items {
		out = t.add(out, kindErrand, &j.ObjectMeta, "")
	}
	return out, nil
}

// madeForTasks is the namespace of tasks, where the release made it. Claims in it are
// its users': with them it stays.
func (t *Target) madeForTasks(ctx context.Context) ([]resource.Found, error) {
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

// ofTasks is what the master has made for tasks in a namespace.
func (t *Target) ofTasks(ctx context.Context, ns, cluster string) ([]resource.Found, error) {
	o := metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster + "," + taskLabel}
	var out []resource.Found
	add := func(kind string, m *metav1.ObjectMeta) {
		before := len(out)
		out = t.add(out, kind, m, "")
		for i := range out[before:] {
			out[before+i].Launched = true
		}
	}
	jobs, err := t.API.BatchV1().Jobs(ns).List(ctx, o)
	if elsewhere(err, ns, t.Namespace) {
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

// elsewhere reports a further namespace that is gone or closed to us: what is in it
// cannot be told, and the cluster's own namespace does not depend on it.
func elsewhere(err error, ns, home string) bool {
	return ns != home && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err))
}

// add lists an object if it really carries the cluster's mark.
func (t *Target) add(fs []resource.Found, kind string, m *metav1.ObjectMeta, retain string) []resource.Found {
	if m.Labels[clusterLabel] != t.Cluster {
		return fs
	}
	return append(fs, resource.Found{Kind: kind, ID: t.id(m.Namespace, m.Name), Name: t.id(m.Namespace, m.Name), Retain: retain})
}

// id is an object's identity within its kind: the namespace is said where it is not
// the cluster's.
func (t *Target) id(ns, name string) string {
	if ns == t.Namespace {
		return name
	}
	return ns + "/" + name
}

// Remove removes by kind and identity.
func (t *Target) Remove(ctx context.Context, f resource.Found) error {
	ns, name, other := strings.Cut(f.ID, "/")
	if !other {
		ns, name = t.Namespace, f.ID
	}
	if f.Kind == kindMaster {
		return t.stop(ctx)
	}
	if f.Kind == kindRelease {
		return t.release().Delete(ctx)
	}
	remove, found := t.removers(ns)[f.Kind]
	if !found {
		return fmt.Errorf("remove %s: nothing is known of such objects", f)
	}
	foreground := metav1.DeletePropagationForeground
	err := remove.delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return t.refuseIn(ns, "delete", remove.resource, name, err)
	}
	return t.await(ctx, goneLimit, f.String()+" to go", func(ctx context.Context) (string, error) {
		err := remove.look(ctx, name)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", t.refuseIn(ns, "get", remove.resource, name, err)
		}
		return t.holds(ctx, f.Kind, ns, name)
	})
}

// remover deletes objects of one kind and looks whether they are gone.
type remover struct {
	resource string
	delete   func(context.Context, string, metav1.DeleteOptions) error
	look     func(context.Context, string) error
}

func (t *Target) removers(ns string) map[string]remover {
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

// namespaces are those in which the cluster's tasks may run: its own first.
func (t *Target) namespaces() []string {
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

// namespaceExists looks for a namespace. Who may not look is told that it is there:
// the next call knows better.
func (t *Target) namespaceExists(ctx context.Context, ns string) (bool, error) {
	_, err := t.API.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err == nil || apierrors.IsForbidden(err):
		return true, nil
	default:
		return false, t.refuseIn("", "get", "namespaces", ns, err)
	}
}

func (t *Target) pods(ctx context.Context, selector string) ([]corev1.Pod, error) {
	list, err := t.API.CoreV1().Pods(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, t.refuse("list", "pods", "", err)
	}
	return list.Items, nil
}
