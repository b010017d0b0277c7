package pods

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// byAllocation is the index of pods and of Jobs, byObject that of events: what they
// are about.
const (
	byAllocation = "allocation"
	byObject     = "object"
)

// watch is what the API server has told of the cluster. Reading it costs no call.
type watch struct {
	// namespaces and cluster are those of pods: the namespace in which they are made,
	// and those in which an earlier version made them.
	namespaces []string
	cluster    string

	factories []informers.SharedInformerFactory
	pods      caches
	jobs      caches
	// refusals are the events in which the Job controller says why it may not
	// make a pod.
	refusals caches
	// warnings are the events in which nodes say what keeps a pod from starting.
	warnings caches
	// nodes is nil when the account may not see them; others are the pods on nodes, in
	// all namespaces or in that of tasks. Both change when its permissions do.
	nodes, others atomic.Pointer[view]
}

// resync is how often everything is looked at without news. What is missed
// otherwise is a mistake of ours; this bounds what it costs.
const resync = 5 * time.Minute

// newWatch prepares the watches that the account may have.
func (r *RM) newWatch(ctx context.Context) (*watch, error) {
	w := &watch{cluster: r.cfg.Cluster}
	former, err := r.formerNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, namespace := range append([]string{r.cfg.Namespace}, former...) {
		if err := w.watchNamespace(r.cfg.Client, namespace); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// formerNamespaces are those that the account may look into.
func (r *RM) formerNamespaces(ctx context.Context) ([]string, error) {
	var out []string
	for _, namespace := range r.cfg.Former {
		_, err := r.cfg.Client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{Limit: 1, LabelSelector: ClusterLabel + "=" + r.cfg.Cluster})
		switch {
		case denied(err):
			r.cfg.Log.Warn("the account may not list jobs of a namespace in which tasks ran before: what still runs there counts as lost", "namespace", namespace, "err", err)
		case err != nil:
			return nil, fmt.Errorf("list jobs of namespace %s: %w", namespace, err)
		default:
			out = append(out, namespace)
		}
	}
	return out, nil
}

// watchNamespace adds what tasks have in a namespace, and what is said of it.
func (w *watch) watchNamespace(c kubernetes.Interface, namespace string) error {
	ours := informers.NewSharedInformerFactoryWithOptions(c, resync, informers.WithNamespace(namespace),
		informers.WithTransform(strip), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = ClusterLabel + "=" + w.cluster
		}))
	pods, jobs := ours.Core().V1().Pods().Informer(), ours.Batch().V1().Jobs().Informer()
	if err := pods.AddIndexers(cache.Indexers{byAllocation: allocationOf}); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	if err := jobs.AddIndexers(cache.Indexers{byAllocation: allocationOf}); err != nil {
		return fmt.Errorf("watch jobs: %w", err)
	}
	refusals, err := w.events(c, namespace, "involvedObject.kind=Job,reason=FailedCreate")
	if err != nil {
		return err
	}
	warnings, err := w.events(c, namespace, "involvedObject.kind=Pod,type=Warning,reason!=FailedScheduling")
	if err != nil {
		return err
	}
	w.namespaces, w.factories = append(w.namespaces, namespace), append(w.factories, ours)
	w.pods, w.jobs = append(w.pods, pods), append(w.jobs, jobs)
	w.refusals, w.warnings = append(w.refusals, refusals), append(w.warnings, warnings)
	return nil
}

// events watches those of a namespace that a field selector chooses.
func (w *watch) events(c kubernetes.Interface, namespace, fields string) (cache.SharedIndexInformer, error) {
	f := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(namespace),
		informers.WithTransform(strip), informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = fields }))
	i := f.Core().V1().Events().Informer()
	if err := i.AddIndexers(cache.Indexers{byObject: objectOf}); err != nil {
		return nil, fmt.Errorf("watch events: %w", err)
	}
	w.factories = append(w.factories, f)
	return i, nil
}

// denied tells what the account may not do from an account that is not accepted: that
// may pass.
func denied(err error) bool { return apierrors.IsForbidden(err) }

// strip takes off what nobody reads here and every object carries.
func strip(o any) (any, error) {
	if m, is := o.(metav1.Object); is {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// stripOther leaves of another's pod what it takes of its node.
func stripOther(o any) (any, error) {
	pod, is := o.(*corev1.Pod)
	if !is {
		return o, nil
	}
	pod.ManagedFields, pod.Annotations, pod.OwnerReferences = nil, nil, nil
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName, Overhead: pod.Spec.Overhead, Resources: pod.Spec.Resources}
	bare := func(all []corev1.Container) []corev1.Container {
		out := make([]corev1.Container, len(all))
		for i, c := range all {
			out[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		}
		return out
	}
	spec.Containers, spec.InitContainers = bare(pod.Spec.Containers), bare(pod.Spec.InitContainers)
	pod.Spec, pod.Status = spec, corev1.PodStatus{Phase: pod.Status.Phase}
	return pod, nil
}

func allocationOf(o any) ([]string, error) {
	if m, is := o.(metav1.Object); is {
		if id := m.GetLabels()[AllocationLabel]; id != "" {
			return []string{id}, nil
		}
	}
	return nil, nil
}

func objectOf(o any) ([]string, error) {
	if e, is := o.(*corev1.Event); is && e.InvolvedObject.UID != "" {
		return []string{string(e.InvolvedObject.UID)}, nil
	}
	return nil, nil
}

// kinds are the watches of the namespaces by what they are of.
func (w *watch) kinds() map[string]caches {
	return map[string]caches{
		"pods": w.pods, "jobs": w.jobs, "events of jobs": w.refusals, "events of pods": w.warnings,
	}
}

// start begins to watch and returns when all is known that there is, or ctx ends.
// What changes from then on is told to tell, and what cannot be watched to fail.
func (w *watch) start(ctx context.Context, tell func(any), fail failing) error {
	for what, all := range w.kinds() {
		for _, i := range all {
			if err := attach(what, i, tell, fail); err != nil {
				return err
			}
		}
	}
	for _, f := range w.factories {
		f.Start(ctx.Done())
	}
	for _, f := range w.factories {
		for kind, synced := range f.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return fmt.Errorf("watch %s: %w", kind, context.Cause(ctx))
			}
		}
	}
	return nil
}

// failing makes what is told that something cannot be watched.
type failing func(what string) cache.WatchErrorHandlerWithContext

// attach has an informer tell what changes, and what it cannot watch.
func attach(what string, i cache.SharedIndexInformer, tell func(any), fail failing) error {
	on := cache.ResourceEventHandlerFuncs{
		AddFunc: tell, DeleteFunc: tell, UpdateFunc: func(_, o any) { tell(o) },
	}
	if _, err := i.AddEventHandler(on); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	if err := i.SetWatchErrorHandlerWithContext(fail(what)); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	return nil
}

// stop waits until nothing is watched any more; the context of start has ended.
func (w *watch) stop() {
	w.nodes.Load().end()
	w.others.Load().end()
	for _, f := range w.factories {
		f.Shutdown()
	}
}

// podsOf are the pods of one Job of an allocation, by rank. Of several for a rank the
// Job controller keeps the oldest.
func (w *watch) podsOf(id rm.AllocationID, job string) map[int]*corev1.Pod {
	out := make(map[int]*corev1.Pod)
	for _, o := range w.pods.byIndex(byAllocation, string(id)) {
		pod, is := o.(*corev1.Pod)
		if !is || pod.Labels[batchv1.JobNameLabel] != job {
			continue
		}
		rank, ok := podspec.RankOf(pod)
		if !ok {
			continue
		}
		if have := out[rank]; have == nil || pod.CreationTimestamp.Before(&have.CreationTimestamp) {
			out[rank] = pod
		}
	}
	return out
}

func (w *watch) job(namespace, name string) *batchv1.Job {
	o, _ := w.jobs.get(namespace + "/" + name)
	job, _ := o.(*batchv1.Job)
	return job
}

// jobsOf are the Jobs of an allocation's attempts.
func (w *watch) jobsOf(id rm.AllocationID) []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.byIndex(byAllocation, string(id)) {
		if job, is := o.(*batchv1.Job); is {
			out = append(out, job)
		}
	}
	return out
}

// subject is the allocation whose Job or pod an event is about, empty for another's.
func (w *watch) subject(e *corev1.Event) rm.AllocationID {
	about := w.pods
	if e.InvolvedObject.Kind == "Job" {
		about = w.jobs
	}
	o, found := about.get(e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name)
	if m, is := o.(metav1.Object); is && found {
		return rm.AllocationID(m.GetLabels()[AllocationLabel])
	}
	return ""
}

// allJobs are all Jobs of this cluster's tasks.
func (w *watch) allJobs() []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.list() {
		if job, is := o.(*batchv1.Job); is && job.Labels[AllocationLabel] != "" {
			out = append(out, job)
		}
	}
	return out
}

// node is nil for one that is not there, or may not be seen.
func (w *watch) node(name string) *corev1.Node {
	nodes := w.nodes.Load()
	if nodes == nil {
		return nil
	}
	o, found, err := nodes.informer.GetIndexer().GetByKey(name)
	if !found || err != nil {
		return nil
	}
	return nodeOf(o)
}

// allNodes are the nodes, nil when they may not be seen.
func (w *watch) allNodes() []*corev1.Node {
	var out []*corev1.Node
	for _, o := range w.nodes.Load().list() {
		if n := nodeOf(o); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// placed are all pods that take something of a node: our own and, as far as they
// may be seen, those of others, another cluster's tasks among them.
func (w *watch) placed() []*corev1.Pod {
	var out []*corev1.Pod
	on := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !finished(pod) }
	for _, o := range w.pods.list() {
		if pod, is := o.(*corev1.Pod); is && on(pod) {
			out = append(out, pod)
		}
	}
	for _, o := range w.others.Load().list() {
		if pod, is := o.(*corev1.Pod); is && on(pod) && !w.ours(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// ours reports whether a pod is among w.pods: a selector can leave out a label or a
// namespace, and not both at once.
func (w *watch) ours(pod *corev1.Pod) bool {
	return slices.Contains(w.namespaces, pod.Namespace) && pod.Labels[ClusterLabel] == w.cluster
}

// refusal is the last word of the Job controller on why it may not make a pod.
func (w *watch) refusal(job *batchv1.Job) string {
	if last := lastEvent(w.refusals, job.UID); last != nil {
		return last.Message
	}
	return ""
}

// lastEvent is the newest about an object, nil for none.
func lastEvent(all caches, about types.UID) *corev1.Event {
	var last *corev1.Event
	for _, o := range all.byIndex(byObject, string(about)) {
		if e, is := o.(*corev1.Event); is && (last == nil || eventTime(last).Before(eventTime(e))) {
			last = e
		}
	}
	return last
}

func eventTime(e *corev1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return e.CreationTimestamp.Time
}
