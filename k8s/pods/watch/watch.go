// Package watch caches the pods and Jobs of tasks and events about them, as far as the account may
// read them.
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

// byAllocation is the index of pods and of Jobs by allocation, and byObject that of events by
// object.
const (
	byAllocation = "allocation"
	byObject     = "object"
)

// Config configures a Watch.
type Config struct {
	Log    *slog.Logger
	Client kubernetes.Interface
	// Cluster is the value of the cluster label of watched objects in the namespaces of tasks:
	// Namespace, where pods are created, and Former, where an earlier version created them.
	Cluster, Namespace string
	Former             []string
	// Interval is the interval of checks of the account's permissions for nodes and other
	// namespaces.
	Interval time.Duration
	// OnChange is called after each change with its allocation, or "" for nodes and other pods;
	// decides reports whether it can affect a scheduling decision. OnError is called with the error
	// of a watch.
	OnChange func(id rm.AllocationID, decides bool)
	OnError  func(error)
	// Changes is notified of changed pods and nodes; it may be nil.
	Changes Changes
}

// Changes is notified of changed pods and nodes, before OnChange is called. This includes pods
// without a node and ended pods.
type Changes interface {
	PodChanged(pod *corev1.Pod)
	PodGone(pod *corev1.Pod)
	NodesChanged()
	// AllChanged is called if pods or nodes were added or removed without separate notifications.
	AllChanged()
}

// Watch caches the objects of tasks. Reading it makes no calls.
type Watch struct {
	cfg Config
	// namespaces are the namespaces of tasks that the account may list.
	namespaces []string

	factories []informers.SharedInformerFactory
	pods      caches
	jobs      caches
	// refusals are events in which the Job controller reports why it cannot create a pod.
	refusals caches
	// warnings are events in which nodes report why a pod does not start.
	warnings caches
	// scalings are events in which cluster autoscalers report about a pod.
	scalings caches
	// nodes is nil if the account may not list them. others are the pods on nodes, in all
	// namespaces or in that of tasks. Both change with the account's permissions.
	nodes, others atomic.Pointer[clusterWatch]
	// quotas are the quotas of the namespace; nil if the account may not list them.
	quotas atomic.Pointer[clusterWatch]
}

// Open starts the watches and waits until they are synced. It retries until ctx ends if the API
// server does not answer. The watches end with ctx too, and Stop waits for that.
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

// Delays between attempts if the API server does not answer.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// untilAnswered retries a call until the API server answers or ctx ends.
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

// resync is the interval at which all objects are handled again without a change. It limits the
// effect of missed changes, which would be bugs.
const resync = 5 * time.Minute

// isDenied distinguishes a missing permission from rejected credentials, which may be temporary.
func isDenied(err error) bool { return apierrors.IsForbidden(err) }

// watchesByKind returns the watches of the namespaces, by kind.
func (w *Watch) watchesByKind() map[string]caches {
	return map[string]caches{
		"pods": w.pods, "jobs": w.jobs, "events of jobs": w.refusals, "events of pods": w.warnings,
		"events of autoscalers": w.scalings,
	}
}

// startWatch starts the watches and waits until their first lists are complete. It returns an error
// if ctx ends.
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

// attachInformer registers the handlers for changes and watch errors.
func (w *Watch) attachInformer(what string, i cache.SharedIndexInformer) error {
	if _, err := i.AddEventHandler(news{w}); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	if err := i.SetWatchErrorHandlerWithContext(w.onWatchError(what)); err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	return nil
}

// Stop waits until all watches have ended; the context of Open must have ended.
func (w *Watch) Stop() {
	w.nodes.Load().stopWatch()
	w.others.Load().stopWatch()
	w.quotas.Load().stopWatch()
	for _, f := range w.factories {
		f.Shutdown()
	}
}

// PodsOf returns the pods of one Job of an allocation, by rank. If a rank has several pods, it
// returns the oldest, which is the one that the Job controller keeps.
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

// Job returns a Job by name, or nil if it is unknown.
func (w *Watch) Job(namespace, name string) *batchv1.Job {
	o, _ := w.jobs.getObject(namespace + "/" + name)
	job, _ := o.(*batchv1.Job)
	return job
}

// JobsOf returns the Jobs of an allocation's attempts.
func (w *Watch) JobsOf(id rm.AllocationID) []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.byIndex(byAllocation, string(id)) {
		if job, ok := o.(*batchv1.Job); ok {
			out = append(out, job)
		}
	}
	return out
}

// subjectOf returns the allocation whose Job or pod an event is about, or "".
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

// AllJobs returns all Jobs of this cluster's tasks.
func (w *Watch) AllJobs() []*batchv1.Job {
	var out []*batchv1.Job
	for _, o := range w.jobs.listObjects() {
		if job, ok := o.(*batchv1.Job); ok && job.Labels[podspec.LabelTask] != "" {
			out = append(out, job)
		}
	}
	return out
}

// Node returns a node, or nil if it does not exist or the account may not list nodes.
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

// Nodes returns all nodes, or nil if the account may not list nodes.
func (w *Watch) Nodes() []*corev1.Node {
	var out []*corev1.Node
	for _, o := range w.nodes.Load().listObjects() {
		if n := nodeOf(o); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// PlacedPods returns all pods that use resources of a node: det-deploy's and, as far as they are
// visible, others, including tasks of other clusters.
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

// IsOurs reports whether a pod is in w.pods.
func (w *Watch) IsOurs(pod *corev1.Pod) bool {
	return slices.Contains(w.namespaces, pod.Namespace) && pod.Labels[podspec.LabelCluster] == w.cfg.Cluster
}

// CreateError returns the Job controller's latest error about creating a pod, or "".
func (w *Watch) CreateError(job *batchv1.Job) string {
	if last := lastEvent(w.refusals, job.UID); last != nil {
		return last.Message
	}
	return ""
}

// lastEvent returns the newest event about an object, or nil.
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
	// warningHolds is how long a node's warning counts. A kubelet repeats a lasting one about every
	// two minutes, or every five if it has many.
	warningHolds = 6 * time.Minute
)

// Warning returns the node's warning about a pod that cannot start its first container, or "": a
// volume that cannot be mounted, or a missing network. The pod's status does not contain it.
func (w *Watch) Warning(pod *corev1.Pod, now time.Time) string {
	if pod.Spec.NodeName == "" || observe.SandboxReady(pod) {
		return ""
	}
	e := lastEvent(w.warnings, pod.UID)
	if e == nil || now.Sub(eventTime(e)) > warningHolds {
		return ""
	}
	return Describe(e)
}

// AllPodsOf returns the pods of all attempts of an allocation.
func (w *Watch) AllPodsOf(id rm.AllocationID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, o := range w.pods.byIndex(byAllocation, string(id)) {
		if pod, ok := o.(*corev1.Pod); ok {
			out = append(out, pod)
		}
	}
	return out
}

// JobOf returns the Job of an allocation by name, in any namespace, or nil.
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
