// Package watch caches what Kubernetes has of tasks, their pods and Jobs and what is
// said of them, as far as the account may read it.
package watch

import (
	"context"
	"fmt"
	"log/slog"
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

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// byAllocation is the index of pods and of Jobs, byObject that of events: what they
// are about.
const (
	byAllocation = "allocation"
	byObject     = "object"
)

// Config says what is watched, and who is notified.
type Config struct {
	Log    *slog.Logger
	Client kubernetes.Interface
	// Cluster is the value of the cluster label on what is watched in the namespaces of
	// tasks: Namespace, where pods are created, and Former, where an earlier version
	// created them.
	Cluster, Namespace string
	Former             []string
	// Interval is how often the account's permissions for nodes and other namespaces are
	// checked.
	Interval time.Duration
	// OnChange is called after each change with the allocation that it concerns, which is
	// empty for nodes and for pods of others; decides says that it can change which
	// allocation runs where. OnError is called with what prevents a watch.
	OnChange func(id rm.AllocationID, decides bool)
	OnError  func(error)
	// Changes is told of what takes room and of what has it; nil for none.
	Changes Changes
}

// Changes is told what happens to pods and nodes, before OnChange is called. Pods without a node,
// or that have ended, are among them.
type Changes interface {
	PodChanged(pod *corev1.Pod)
	PodGone(pod *corev1.Pod)
	NodesChanged()
	// AllChanged says that pods or nodes came or went of which nothing is told.
	AllChanged()
}

// Watch caches the objects that concern tasks. Reading it costs no call.
type Watch struct {
	cfg Config
	// namespaces are those of tasks that the account may list.
	namespaces []string

	factories []informers.SharedInformerFactory
	pods      caches
	jobs      caches
	// refusals are the events in which the Job controller says why it may not
	// create a pod.
	refusals caches
	// warnings are the events in which nodes say what keeps a pod from starting.
	warnings caches
	// nodes is nil when the account may not list them; others are the pods on nodes, in
	// all namespaces or in that of tasks. Both change when its permissions do.
	nodes, others atomic.Pointer[clusterWatch]
	// quotas are those of the namespace, nil when the account may not list them.
	quotas atomic.Pointer[clusterWatch]
}

// Open starts the watches and returns when all is known that there is. An API server
// that does not answer is asked again until ctx ends; the watches end with ctx, too,
// and Stop waits for that.
func Open(ctx context.Context, cfg Config) (*Watch, error) {
	w := &Watch{cfg: cfg}
	if err := w.untilAnswered(ctx, func() error { return w.addNamespaces(ctx) }); err != nil {
		return nil, err
	}
	if err := w.startWatch(ctx); err != nil {
		w.Stop()
		return nil, err
	}
	err := w.untilAnswered(ctx, func() error { _, err := w.openClusterWatches(ctx); return err })
	if err != nil {
		w.Stop()
		return nil, err
	}
	w.logPermissions()
	return w, nil
}

// The pauses between two questions to an API server that does not answer.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// untilAnswered repeats what the API server does not answer, until ctx ends.
func (w *Watch) untilAnswered(ctx context.Context, do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.cfg.Log.Warn("the API server does not answer; trying again", "err", err)
		w.cfg.OnError(err)
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// resync is how often everything is looked at without news. What is missed
// otherwise is a mistake of ours; this bounds what it costs.
const resync = 5 * time.Minute

// isDenied distinguishes a missing permission from an account that is not accepted: that
// may pass.
func isDenied(err error) bool { return apierrors.IsForbidden(err) }

// watchesByKind are the namespaces' watches, by kind.
func (w *Watch) watchesByKind() map[string]caches {
	return map[string]caches{
		"pods": w.pods, "jobs": w.jobs, "events of jobs": w.refusals, "events of pods": w.warnings,
	}
}

// startWatch starts the watches and returns when their first lists are complete, or ctx
// ends.
func (w *Watch) startWatch(ctx context.Context) error {
	for what, all := range w.watchesByKind() {
		for _, i := range all {
			if err := w.attachInformer(what, i); err != nil {
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

// attachInformer has an informer report changes, and errors of its watch.
func (w *Watch) attachInformer(what string, i cache.SharedIndexInformer) error {
	if _, err := i.AddEventHandler(news{w}); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	if err := i.SetWatchErrorHandlerWithContext(w.onWatchError(what)); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	return nil
}

// Stop waits until nothing is watched any more; the context of start has ended.
func (w *Watch) Stop() {
	w.nodes.Load().stopWatch()
	w.others.Load().stopWatch()
	w.quotas.Load().stopWatch()
	for _, f := range w.factories {
		f.Shutdown()
	}
}

// PodsOf are the pods of one Job of an allocation, by rank. Of several for a rank the
// Job controller keeps the oldest.
func (w *Watch) PodsOf(id rm.AllocationID, job string) map[int]*corev1.Pod {
	out := make(map[int]*corev1.Pod)
	for _, o := range w.pods.byIndex(byAllocation, string(id)) {
		pod, ok := o.(*corev1.Pod)
		if !ok || pod.Labels[batchv1.JobNameLabel] != job {
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

// Job is a Job by its name, nil for one that is not known.
func (w *Watch) Job(namespace, name string) *batchv1.Job {
	o, _ := w.jobs.getObject(namespace + "/" + name)
	job, _ := o.(*batchv1.Job)
	return job
}

// JobsOf are the Jobs of an allocation's attempts.
func (w *Watch) JobsOf(id rm.AllocationID) []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.byIndex(byAllocation, string(id)) {
		if job, ok := o.(*batchv1.Job); ok {
			out = append(out, job)
		}
	}
	return out
}

// subjectOf is the allocation whose Job or pod an event is about, empty for another's.
func (w *Watch) subjectOf(e *corev1.Event) rm.AllocationID {
	about := w.pods
	if e.InvolvedObject.Kind == "Job" {
		about = w.jobs
	}
	o, found := about.getObject(e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name)
	if m, ok := o.(metav1.Object); ok && found {
		return rm.AllocationID(m.GetLabels()[podspec.LabelTask])
	}
	return ""
}

// AllJobs are all Jobs of this cluster's tasks.
func (w *Watch) AllJobs() []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.listObjects() {
		if job, ok := o.(*batchv1.Job); ok && job.Labels[podspec.LabelTask] != "" {
			out = append(out, job)
		}
	}
	return out
}

// Node is nil for one that is not there, or may not be seen.
func (w *Watch) Node(name string) *corev1.Node {
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

// Nodes are the nodes, nil when they may not be seen.
func (w *Watch) Nodes() []*corev1.Node {
	var out []*corev1.Node
	for _, o := range w.nodes.Load().listObjects() {
		if n := nodeOf(o); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// PlacedPods are all pods that take something of a node: our own and, as far as they
// may be seen, those of others, another cluster's tasks among them.
func (w *Watch) PlacedPods() []*corev1.Pod {
	var out []*corev1.Pod
	on := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !observe.Finished(pod) }
	for _, o := range w.pods.listObjects() {
		if pod, ok := o.(*corev1.Pod); ok && on(pod) {
			out = append(out, pod)
		}
	}
	for _, o := range w.others.Load().listObjects() {
		if pod, ok := o.(*corev1.Pod); ok && on(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// IsOurs reports whether a pod is among w.pods.
func (w *Watch) IsOurs(pod *corev1.Pod) bool {
	return slices.Contains(w.namespaces, pod.Namespace) && pod.Labels[podspec.LabelCluster] == w.cfg.Cluster
}

// CreateError is the last word of the Job controller on why it may not make a pod.
func (w *Watch) CreateError(job *batchv1.Job) string {
	if last := lastEvent(w.refusals, job.UID); last != nil {
		return last.Message
	}
	return ""
}

// lastEvent is the newest about an object, nil for none.
func lastEvent(all caches, about types.UID) *corev1.Event {
	var last *corev1.Event
	for _, o := range all.byIndex(byObject, string(about)) {
		if e, ok := o.(*corev1.Event); ok && (last == nil || eventTime(last).Before(eventTime(e))) {
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

const (
	// warningHolds is how long a node's warning counts. A kubelet repeats one that
	// lasts about every two minutes, or five when it has many.
	warningHolds = 6 * time.Minute
)

// Warning is what a pod's node says of what keeps it from making the first container:
// a volume that cannot be mounted, a network that is not there. Nothing of that is in
// the pod's status.
func (w *Watch) Warning(pod *corev1.Pod, now time.Time) string {
	if pod.Spec.NodeName == "" || observe.SandboxReady(pod) {
		return ""
	}
	e := lastEvent(w.warnings, pod.UID)
	if e == nil || now.Sub(eventTime(e)) > warningHolds {
		return ""
	}
	return e.Reason + ": " + observe.FirstText(e.Message, "no more is said")
}

// AllPodsOf are the pods of all of an allocation's attempts.
func (w *Watch) AllPodsOf(id rm.AllocationID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, o := range w.pods.byIndex(byAllocation, string(id)) {
		if pod, ok := o.(*corev1.Pod); ok {
			out = append(out, pod)
		}
	}
	return out
}

// JobOf is the Job of one of an allocation's attempts by its name, in whichever namespace
// it was made; nil for none.
func (w *Watch) JobOf(id rm.AllocationID, name string) *batchv1.Job {
	for _, job := range w.JobsOf(id) {
		if job.Name == name {
			return job
		}
	}
	return nil
}

func allocationID(o metav1.Object) rm.AllocationID {
	return rm.AllocationID(o.GetLabels()[podspec.LabelTask])
}
