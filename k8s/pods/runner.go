package pods

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/pods/logs"
	"github.com/det-deploy/det-deploy/k8s/pods/objects"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// runner follows the pods of running allocations, and their logs.
type runner struct {
	cfg        Config
	state      *state
	objects    objects.API
	records    records.Store
	reporter   *reporter
	terminator *terminator
	// followers are the goroutines that read logs.
	followers sync.WaitGroup
}

// reconcileRunning follows the pods of a running allocation until they end.
func (r *runner) reconcileRunning(ctx context.Context, w *watch.Watch, a *allocation) time.Duration {
	if again := r.applyRelease(ctx, a); again > 0 {
		return again
	}
	next := time.Duration(0)
	pods := w.PodsOf(a.Allocation, r.state.currentJobName(a))
	for _, c := range a.containers {
		if c.hasEnded() { // only this worker changes it
			continue
		}
		again := r.reconcilePod(ctx, w, a, c, pods[c.rank])
		next = soonerOf(next, again)
	}
	next = soonerOf(next, r.createService(ctx, w, a, pods))
	next = soonerOf(next, r.deleteSecrets(ctx, a, pods))
	next = soonerOf(next, r.terminator.deleteJobOfForced(ctx, w, a))
	next = soonerOf(next, r.reporter.reportTrouble(ctx, a))
	if a.allEnded() {
		return r.reporter.reportEnd(ctx, a)
	}
	return soonerOf(next, r.timeUntilKill(a))
}

func soonerOf(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// timeUntilKill returns the time until a preempted allocation is killed, or 0.
func (r *runner) timeUntilKill(a *allocation) time.Duration {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a.release == nil || a.release.Kill {
		return 0
	}
	return max(time.Until(a.release.By), time.Millisecond)
}

// applyRelease stores the release of an allocation, notifies its owner, and kills the allocation
// after its deadline.
func (r *runner) applyRelease(ctx context.Context, a *allocation) time.Duration {
	r.state.mu.Lock()
	why, stored := a.release, a.stored
	if why != nil && !why.Kill && !time.Now().Before(why.By) {
		r.state.killAllocation(a, why.Cause, why.Reason)
		why = a.release
	}
	r.state.mu.Unlock()
	if why == nil {
		return 0
	}
	if why != stored {
		doc := records.Allocation{Attempt: a.attempt, Release: why}
		if err := r.records.Put(ctx, records.AllocationKey+string(a.Allocation), doc); err != nil {
			return r.reporter.retryLater(ctx, "store the release", a, err)
		}
		a.stored = why
	}
	if why.Kill || a.asked {
		return 0
	}
	listens, err := r.cfg.Tasks.Preempted(ctx, a.Allocation, why.Reason, why.By)
	if err != nil {
		return r.reporter.retryLater(ctx, "report the preemption", a, err)
	}
	a.asked, a.terminate = true, !listens
	return 0
}

// reconcilePod follows one pod.
func (r *runner) reconcilePod(ctx context.Context, w *watch.Watch, a *allocation, c *container, pod *corev1.Pod) time.Duration {
	now := time.Now()
	var s observe.Container
	if pod == nil {
		s = r.observeMissing(a, c, w.JobOf(a.Allocation, r.state.currentJobName(a)))
	} else {
		s = observe.Pod(pod)
		s.AddWarning(w.Warning(pod, now))
		r.state.mu.Lock()
		c.setPod(pod)
		r.state.mu.Unlock()
		r.noteForeignDeletion(c, pod)
		r.noteDisruption(a, c, pod, s, now)
		r.diagnoseAllocation(a, c, &s, now)
	}
	r.followLog(ctx, a, c, s)
	if s.State != apiv1.Container_STATE_TERMINATED {
		if err := r.reporter.reportState(ctx, a, c, s); err != nil {
			return r.reporter.retryLater(ctx, "report the container's state", a, err)
		}
		return r.terminator.terminatePod(ctx, a, c, pod, s)
	}
	switch {
	case c.lines != nil && pod == nil:
		c.lines.PodGone()
	case c.lines != nil:
		c.lines.ContainerEnded()
	}
	if !c.lines.Complete() {
		return 0 // it enqueues the allocation when it is complete
	}
	if s.Lost {
		r.state.mu.Lock()
		r.state.killAllocation(a, rm.CauseAgentLost, s.Exit.GetMessage())
		r.state.mu.Unlock()
	}
	if s.Started && c.state < apiv1.Container_STATE_RUNNING {
		ran := s
		ran.State, ran.Exit = apiv1.Container_STATE_RUNNING, nil
		if err := r.reporter.reportState(ctx, a, c, ran); err != nil {
			return r.reporter.retryLater(ctx, "report the container's state", a, err)
		}
	}
	if err := r.reporter.reportState(ctx, a, c, s); err != nil {
		return r.reporter.retryLater(ctx, "report the container's state", a, err)
	}
	r.state.wakeSoon()
	return 0
}

// observeMissing returns the state of a pod that no longer exists. job is nil if that does not
// exist either.
func (r *runner) observeMissing(a *allocation, c *container, job *batchv1.Job) observe.Container {
	s := observe.Container{State: apiv1.Container_STATE_TERMINATED, Exit: c.decidedExit}
	switch {
	case s.Exit != nil:
	case observe.Completed(job, c.rank):
		s.Started = true
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Message: "its Job says that it ended well; its pod is gone, and what of its log was not read"}
	default:
		s.Lost = true
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: "its pod is gone, and how it ended was not observed"}
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a.release != nil {
		s.Lost = false // it was to be stopped
	}
	return s
}

// noteForeignDeletion records that another client deleted a pod.
func (r *runner) noteForeignDeletion(c *container, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil && c.ending.IsZero() && !c.deletedByOther {
		c.deletedByOther = true
		r.cfg.Log.Info("pod is being deleted by another client", "pod", pod.Name, "node", pod.Spec.NodeName)
	}
}

// noteDisruption preempts an allocation while another client removes one of its pods, so that it
// can save its state. The cause is recorded at once, because another rank may fail first as a
// consequence.
func (r *runner) noteDisruption(a *allocation, c *container, pod *corev1.Pod, s observe.Container, now time.Time) {
	why := observe.Disruption(pod)
	if why == "" && c.deletedByOther {
		why = fmt.Sprintf("pod %s is deleted by another client, or its node %s is drained", pod.Name, pod.Spec.NodeName)
	}
	if why == "" || s.State == apiv1.Container_STATE_TERMINATED {
		return
	}
	by := now.Add(r.cfg.gracePeriod(a, pod))
	if pod.DeletionTimestamp != nil {
		by = now.Add(min(pod.DeletionTimestamp.Sub(now), r.cfg.graceLimit(a)))
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.loseAllocation(a, why, by)
}

// diagnoseAllocation decides the exit of a container that does not start, and whether the task or
// the cluster caused it.
func (r *runner) diagnoseAllocation(a *allocation, c *container, s *observe.Container, now time.Time) {
	c.trouble = ""
	if s.State == apiv1.Container_STATE_TERMINATED {
		r.state.mu.Lock()
		ours := a.release != nil && a.release.Cause != rm.CauseAgentLost
		a.stopped = a.stopped || s.Stopped
		r.state.mu.Unlock()
		if c.decidedExit != nil {
			// When the pod is deleted, a kubelet may report an exit of a container that never ran.
			s.Exit, s.Lost, s.Started, s.FailedInit = c.decidedExit, false, false, ""
		}
		if c.deletedByOther && !ours && !s.Lost && s.Exit.GetCode() != 0 {
			s.Lost = true
			s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: fmt.Sprintf(
				"pod %s was deleted by another client, or its node %s was drained", c.pod, c.node,
			)}
		}
		return
	}
	r.limitStart(c, *s, now)
}

// followLog starts to read a container's log once it may have lines.
func (r *runner) followLog(ctx context.Context, a *allocation, c *container, s observe.Container) {
	if c.lines != nil || !s.Started && s.FailedInit == "" || c.pod == "" {
		return
	}
	r.state.mu.Lock()
	from := r.state.saved.Marks[c.id]
	delete(r.state.saved.Marks, c.id)
	r.state.mu.Unlock()
	c.lines = logs.New(logs.Config{
		Log: r.cfg.Log, Pods: r.cfg.Client.CoreV1().Pods(c.namespace), Store: r.cfg.Logs, Metrics: r.state.metrics.logs,
		SaveMark: func(ctx context.Context, m logs.Mark) error {
			return r.records.Put(ctx, records.LogKey+string(c.id), m)
		},
		Allocation: a.Allocation, Container: c.id, Node: c.node, Pod: c.pod,
		Patience: r.cfg.Limits.Lines, Mark: from, LastLine: r.cfg.LastLine,
	})
	l := c.lines
	r.followers.Go(func() {
		if s.FailedInit != "" {
			l.StoreInitTail(ctx, s.FailedInit)
		} else {
			l.Follow(ctx)
		}
		r.state.enqueueAllocation(a.Allocation)
	})
}

// waitsStart is the kind of reason for a pod that its node cannot start.
const waitsStart = "start"

// limitStart records why a container does not start, and decides its exit after a time limit.
func (r *runner) limitStart(c *container, s observe.Container, now time.Time) {
	if s.Stuck == "" {
		c.stuck = time.Time{}
		return
	}
	if c.stuck.IsZero() {
		c.stuck = now
	}
	if now.Sub(c.stuck) >= s.ReportAfter() {
		c.trouble = fmt.Sprintf("pod %s on node %s does not start: %s", c.pod, c.node, s.Stuck)
	}
	if c.decidedExit == nil && (s.Hopeless || now.Sub(c.stuck) >= r.cfg.Limits.startOf(s)) {
		c.decidedExit = &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: s.Stuck}
	}
}

// createService creates the DNS names of a gang's pods once all of them have an IP address.
func (r *runner) createService(ctx context.Context, w *watch.Watch, a *allocation, pods map[int]*corev1.Pod) time.Duration {
	if a.met || len(a.containers) == 1 || r.state.isReleased(a) {
		return 0
	}
	for rank := range a.containers {
		if pod := pods[rank]; pod == nil || pod.Status.PodIP == "" {
			return 0 // its change or end triggers another pass
		}
	}
	job := w.Job(r.cfg.Namespace, r.state.currentJobName(a))
	if job == nil {
		return 0
	}
	if s := podspec.ServiceOf(job); s != nil {
		if err := r.objects.CreateService(ctx, job, s); err != nil {
			return r.reporter.retryLater(ctx, "create the gang's service", a, err)
		}
	}
	a.met = true
	return 0
}

// deleteSecrets deletes the Secrets of a gang once all of its containers have started: they contain
// the environment and the tokens of the task, no pod reads them again, and any user with access to
// Secrets of the namespace could read them. Secrets of pods that an earlier version created in
// another namespace are kept, because the master may not delete Secrets there.
func (r *runner) deleteSecrets(ctx context.Context, a *allocation, pods map[int]*corev1.Pod) time.Duration {
	if a.secretsGone || len(pods) < len(a.containers) {
		return 0
	}
	names := map[string]bool{}
	for _, pod := range pods {
		if pod.Namespace != r.cfg.Namespace {
			a.secretsGone = true
			return 0
		}
		if !observe.AllStarted(pod) {
			return 0
		}
		for _, name := range podspec.OrderOf(pod) {
			names[name] = true
		}
	}
	for name := range names {
		if err := r.objects.DeleteSecret(ctx, name); err != nil {
			return r.reporter.retryLater(ctx, "delete the secrets of a started task", a, err)
		}
	}
	a.secretsGone = true
	return 0
}
