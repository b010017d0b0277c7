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

// clusterWatch is a watch that the account may lose, or be given, while the master runs.
type clusterWatch struct {
	informer cache.SharedIndexInformer
	factory  informers.SharedInformerFactory
	stop     context.CancelFunc
	// all says that pods of all namespaces are seen.
	all bool
	// also is a second watch of the same kind of objects, nil for none: a selector leaves out
	// a label or a namespace, and not both at once.
	also *clusterWatch
}

// stopWatch stops watching; it accepts nil.
func (v *clusterWatch) stopWatch() {
	if v != nil {
		v.stop()
		v.factory.Shutdown()
		v.also.stopWatch()
	}
}

// listObjects lists the cached objects; of nil there are none.
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

// firstList is how long the first list of a view may take; then its permissions are checked
// again, which the account may have lost in between.
const firstList = 5 * time.Minute

// NoQuota reports whether it is known that no ResourceQuota counts what is in the namespace of
// tasks.
func (w *Watch) NoQuota() bool {
	quotas := w.quotas.Load()
	return quotas != nil && len(quotas.listObjects()) == 0
}

// permissions is what the account may see of the cluster as a whole.
type permissions struct{ nodes, pods bool }

// checkPermissions asks the API server for what the account may see, by trying it.
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

// openClusterWatches has the watches of the whole cluster be those that the account may have. It
// returns whether that changed anything. One goroutine calls it.
func (w *Watch) openClusterWatches(ctx context.Context) (bool, error) {
	may, err := w.checkPermissions(ctx)
	if err != nil {
		return false, err
	}
	nodes, others := w.nodes.Load(), w.others.Load()
	changed := may.nodes != (nodes != nil) || others == nil || may.pods != others.all
	if !may.nodes && nodes != nil {
		// Before anything is opened, which can take minutes: what is listed no longer changes.
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

// openQuotas watches the quotas of the namespace of tasks while the account may.
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

// openOtherPods watches the pods on nodes, of all namespaces or of the tasks' own, that are not
// watched as ours.
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
		// Another cluster of the same name has its tasks elsewhere.
		if v.also, err = w.openPlacedPods(ctx, namespace, podspec.LabelCluster+"="+w.cfg.Cluster, w.namespaces); err != nil {
			v.stopWatch()
			return err
		}
	}
	w.others.Swap(v).stopWatch()
	w.noteChange(Changes.AllChanged)
	return nil
}

// openPlacedPods watches the pods on nodes that a label selector chooses, but for those of some
// namespaces.
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

// openWatch begins to watch and returns when all is known that there is.
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

// FollowPermissions notices that the account may see more or less than before, until ctx ends.
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

// logPermissions says in the log what is not seen, and what follows from that.
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

// nodeOf is what an informer of nodes holds.
func nodeOf(o any) *corev1.Node {
	n, _ := o.(*corev1.Node)
	return n
}
