package watch

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// clusterWatch is a watch for which the account's permission may change while the master runs.
type clusterWatch struct {
	informer cache.SharedIndexInformer
	factory  informers.SharedInformerFactory
	stop     context.CancelFunc
	// all is true if pods of all namespaces are watched.
	all bool
	// also is a second watch of the same kind, or nil: a selector cannot exclude the combination of
	// a label and a namespace.
	also *clusterWatch
}

// stopWatch stops watching. It does nothing on nil.
func (v *clusterWatch) stopWatch() {
	if v != nil {
		v.stop()
		v.factory.Shutdown()
		v.also.stopWatch()
	}
}

// listObjects returns the cached objects, or none on nil.
func (v *clusterWatch) listObjects() []any {
	if v == nil {
		return nil
	}
	return append(v.informer.GetIndexer().List(), v.also.listObjects()...)
}

// NodesKnown reports whether the account may list nodes.
func (w *Watch) NodesKnown() bool { return w.nodes.Load() != nil }

// OthersKnown reports whether the account may list the pods of all namespaces.
func (w *Watch) OthersKnown() bool {
	others := w.others.Load()
	return others != nil && others.all
}

// firstList is the timeout of the first list of a watch. Then the permissions, which may have been
// revoked meanwhile, are checked again.
const firstList = 5 * time.Minute

// NoQuota reports whether it is known that the namespace of tasks has no ResourceQuota.
func (w *Watch) NoQuota() bool {
	quotas := w.quotas.Load()
	return quotas != nil && len(quotas.listObjects()) == 0
}

// permissions are the account's cluster-wide permissions.
type permissions struct{ nodes, pods bool }

// checkPermissions checks the account's permissions by making the calls.
func (w *Watch) checkPermissions(ctx context.Context) (permissions, error) {
	c := w.cfg.Client.CoreV1()
	_, err := c.Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil && !isDenied(err) {
		return permissions{}, fmt.Errorf("list nodes: %w", err)
	}
	out := permissions{nodes: err == nil}
	_, err = c.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil && !isDenied(err) {
		return permissions{}, fmt.Errorf("list pods: %w", err)
	}
	out.pods = err == nil
	return out, nil
}

// openClusterWatches opens and closes the cluster-wide watches according to the account's
// permissions. It reports whether these have changed. Only one goroutine may call it.
func (w *Watch) openClusterWatches(ctx context.Context) (bool, error) {
	may, err := w.checkPermissions(ctx)
	if err != nil {
		return false, err
	}
	nodes, others := w.nodes.Load(), w.others.Load()
	changed := may.nodes != (nodes != nil) || others == nil || may.pods != others.all
	if !may.nodes && nodes != nil {
		// First, because opening a watch can take minutes and the cached nodes are no longer
		// updated.
		w.nodes.Store(nil)
		nodes.stopWatch()
		w.noteChange(Changes.AllChanged)
		w.cfg.OnChange("", true)
	}
	if may.nodes && nodes == nil {
		f := informers.NewSharedInformerFactoryWithOptions(w.cfg.Client, resync, informers.WithTransform(stripObject))
		v, err := w.openWatch(ctx, "nodes", f, f.Core().V1().Nodes().Informer())
		if err != nil {
			return false, err
		}
		w.nodes.Store(v)
		w.noteChange(Changes.NodesChanged)
	}
	if err := w.openQuotas(ctx); err != nil {
		return false, err
	}
	if others == nil || may.pods != others.all {
		if err := w.openOtherPods(ctx, may.pods); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// openQuotas watches the quotas of the namespace of tasks, if permitted.
func (w *Watch) openQuotas(ctx context.Context) error {
	_, err := w.cfg.Client.CoreV1().ResourceQuotas(w.cfg.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil && !isDenied(err) {
		return fmt.Errorf("list resource quotas: %w", err)
	}
	have, may := w.quotas.Load(), err == nil
	switch {
	case !may && have != nil:
		w.quotas.Store(nil)
		have.stopWatch()
	case may && have == nil:
		f := informers.NewSharedInformerFactoryWithOptions(w.cfg.Client, resync, informers.WithNamespace(w.cfg.Namespace), informers.WithTransform(stripObject))
		v, err := w.openWatch(ctx, "resource quotas", f, f.Core().V1().ResourceQuotas().Informer())
		if err != nil {
			return err
		}
		w.quotas.Store(v)
	}
	return nil
}

// openOtherPods watches the pods on nodes that are not watched as det-deploy's, in all namespaces
// or in that of tasks.
func (w *Watch) openOtherPods(ctx context.Context, all bool) error {
	namespace := w.cfg.Namespace
	if all {
		namespace = metav1.NamespaceAll
	}
	v, err := w.openPlacedPods(ctx, namespace, podspec.LabelCluster+"!="+w.cfg.Cluster, nil)
	if err != nil {
		return err
	}
	if v.all = all; all {
		// Another cluster of the same name has its tasks in another namespace.
		if v.also, err = w.openPlacedPods(ctx, namespace, podspec.LabelCluster+"="+w.cfg.Cluster, w.namespaces); err != nil {
			v.stopWatch()
			return err
		}
	}
	w.others.Swap(v).stopWatch()
	w.noteChange(Changes.AllChanged)
	return nil
}

// openPlacedPods watches the pods on nodes that match a label selector, except in the namespaces of
// without.
func (w *Watch) openPlacedPods(ctx context.Context, namespace, labels string, without []string) (*clusterWatch, error) {
	fields := []string{"spec.nodeName!=", "status.phase!=Succeeded", "status.phase!=Failed"}
	for _, name := range without {
		fields = append(fields, "metadata.namespace!="+name)
	}
	f := informers.NewSharedInformerFactoryWithOptions(w.cfg.Client, 0, informers.WithNamespace(namespace),
		informers.WithTransform(stripOther), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = labels, strings.Join(fields, ",")
		}))
	return w.openWatch(ctx, "pods of others", f, f.Core().V1().Pods().Informer())
}

// openWatch starts a watch and waits until it is synced.
func (w *Watch) openWatch(ctx context.Context, what string, f informers.SharedInformerFactory, i cache.SharedIndexInformer) (*clusterWatch, error) {
	if err := w.attachInformer(what, i); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	v := &clusterWatch{informer: i, factory: f, stop: stop}
	f.Start(ctx.Done())
	first, done := context.WithTimeout(ctx, firstList)
	defer done()
	for _, synced := range f.WaitForCacheSync(first.Done()) {
		if !synced {
			v.stopWatch()
			return nil, fmt.Errorf("watch %s: %w", what, context.Cause(first))
		}
	}
	return v, nil
}

// FollowPermissions adapts the watches to changes of the account's permissions, until ctx ends.
func (w *Watch) FollowPermissions(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := w.openClusterWatches(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			w.cfg.Log.Debug("ask what the account may see", "err", err)
		case changed:
			w.logPermissions()
			w.cfg.OnChange("", true)
		}
	}
}

// logPermissions logs missing permissions and their effects.
func (w *Watch) logPermissions() {
	nodes, others := w.nodes.Load() != nil, w.others.Load().all
	switch {
	case !nodes:
		w.cfg.Log.Warn("the account may not list nodes: agents are not shown, and whether a task's pods fit is known only once they are tried; " +
			"grant get, list and watch of nodes to change that")
	case !others:
		w.cfg.Log.Info("the account may not list the pods of other namespaces: what they take of nodes is learned from what the scheduler refuses; "+
			"grant get, list and watch of pods (rbac.pods) to change that", "namespace", w.cfg.Namespace)
	default:
		w.cfg.Log.Info("all nodes and the pods on them are seen")
	}
}

// nodeOf converts an object of the node informer.
func nodeOf(o any) *corev1.Node {
	n, _ := o.(*corev1.Node)
	return n
}
