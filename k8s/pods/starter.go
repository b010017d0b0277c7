package pods

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/objects"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// starter starts an allocation, from the decision to run it until all of its pods are on nodes.
type starter struct {
	cfg      Config
	state    *state
	objects  objects.API
	records  records.Store
	reporter *reporter
}

// createObjects creates the Job and Secrets of an attempt unless they exist.
func (s *starter) createObjects(ctx context.Context, a *allocation) time.Duration {
	if s.state.isReleased(a) {
		s.state.giveUp(a, "it was ended before it ran")
		return 0
	}
	specs, err := s.cfg.Tasks.Assigned(ctx, s.assignmentOf(a))
	if ctx.Err() != nil {
		return retryAfter
	}
	if err == nil && len(specs) != len(a.containers) {
		err = fmt.Errorf("allocation %s has %d containers but %d specs", a.Allocation, len(a.containers), len(specs))
	}
	if err != nil {
		s.state.refuseAllocation(a, err)
		return 0
	}
	order := s.podRequest(a, specs)
	if s.cfg.Logins != nil {
		if order.Template.Logins, err = s.cfg.Logins(); err != nil {
			return s.reporter.retryLater(ctx, "read the pull Secret", a, err)
		}
	}
	built, err := podspec.Build(order)
	if err != nil {
		s.state.refuseAllocation(a, err)
		return 0
	}
	return s.sendObjects(ctx, a, built)
}

func (s *starter) assignmentOf(a *allocation) rm.Assignment {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	p, _ := s.cfg.findPool(a.Pool)
	out := rm.Assignment{Allocation: a.Allocation, Pool: a.Pool, At: a.decided, Ports: podspec.HostPorts(a.Request, p.Template)}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describeContainer())
	}
	return out
}

// podRequest returns the request from which an attempt's objects are built. state.mu is not held.
func (s *starter) podRequest(a *allocation, specs []*agentv1.Spec) podspec.Request {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	p, _ := s.cfg.findPool(a.Pool)
	o := podspec.Request{Request: a.Request, Template: p.Template, Attempt: a.attempt, Specs: specs, Ungated: a.ungated, Nodes: a.hints}
	o.Pool, o.Priority = a.Pool, a.Priority
	o.ExcludedAgents = slices.AppendSeq(slices.Clone(a.ExcludedAgents), maps.Keys(s.state.switches))
	slices.Sort(o.ExcludedAgents)
	o.ExcludedAgents = slices.Compact(o.ExcludedAgents)
	return o
}

// sendObjects sends the objects to the API server. It is idempotent.
func (s *starter) sendObjects(ctx context.Context, a *allocation, o podspec.Objects) time.Duration {
	job, err := s.objects.CreateJob(ctx, o.Job)
	switch {
	case err != nil:
		return s.handleCreateError(ctx, a, err)
	case job.DeletionTimestamp != nil:
		// The Job of an attempt before a restart, which is being deleted.
		s.state.mu.Lock()
		a.attempt++
		s.state.mu.Unlock()
		return time.Millisecond
	}
	if err := s.objects.CreateSecrets(ctx, job, o.Secrets); err != nil {
		return s.handleCreateError(ctx, a, err)
	}
	next := Gated
	s.state.mu.Lock()
	// A Job that an earlier master created without gates is detected when its pods are counted.
	if a.ungated = a.ungated && !podspec.HasGate(&job.Spec.Template.Spec); a.ungated {
		next = Opening
	}
	// Later decisions use the actual requests of the pods.
	if pod, err := gang.PodOf(&job.Spec.Template.Spec); err == nil {
		a.pod = pod
	}
	s.state.mu.Unlock()
	s.noteCallError(a, nil)
	a.opened, a.met = nil, false
	s.state.changePhase(a, Making, next)
	return 0
}

// handleCreateError handles an error of the API server: one that would occur again ends the
// allocation, others are retried.
func (s *starter) handleCreateError(ctx context.Context, a *allocation, err error) time.Duration {
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err):
		s.state.refuseAllocation(a, err)
		return 0
	case apierrors.IsForbidden(err):
		// A quota, an admission webhook, or a missing permission.
		s.state.giveUp(a, err.Error())
		return 0
	}
	s.noteCallError(a, err)
	return s.reporter.retryLater(ctx, "create the attempt's objects", a, err)
}

// noteCallError records for the owner that the API server rejects calls with an error of its own, such as a webhook
// that does not answer. The call is repeated until the time limit of the attempt.
func (s *starter) noteCallError(a *allocation, err error) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	said := ""
	if apierrors.IsInternalError(err) {
		said = err.Error()
	}
	if a.callError != said {
		a.callError, a.trouble = said, said
		s.state.passes.Wake()
	}
}

// gatherPods waits until a gang's pods exist, removes their gates, and waits until nodes have
// accepted all of them.
func (s *starter) gatherPods(ctx context.Context, w *watch.Watch, a *allocation) time.Duration {
	if s.state.isReleased(a) {
		s.state.giveUp(a, "it was ended before it ran")
		return 0
	}
	name := s.state.currentJobName(a)
	job, pods := w.Job(s.cfg.Namespace, name), w.PodsOf(a.Allocation, name)
	g := s.countPods(w, a, job, pods)
	if g.undo != "" {
		s.state.giveUp(a, g.undo)
		return 0
	}
	if len(g.gated) > 0 && g.opening {
		return s.openPods(ctx, a, g.gated)
	}
	if g.whole {
		return s.markRunning(ctx, a, pods)
	}
	if again := s.reporter.reportWaiting(ctx, a); again > 0 {
		return again
	}
	return glance
}

// openPods removes the gates of pods, once per pod, because the change may not be visible yet.
func (s *starter) openPods(ctx context.Context, a *allocation, gated []*corev1.Pod) time.Duration {
	gated = slices.DeleteFunc(gated, func(pod *corev1.Pod) bool { return a.opened[pod.UID] })
	err := s.objects.OpenPods(ctx, a.Allocation, gated, s.nodeHints(a))
	s.noteCallError(a, err)
	if err != nil {
		return s.reporter.retryLater(ctx, "remove scheduling gates", a, err)
	}
	if a.opened == nil {
		a.opened = make(map[types.UID]bool)
	}
	for _, pod := range gated {
		a.opened[pod.UID] = true
	}
	return glance
}

// nodeHints returns nodes with room for each of an allocation's pods.
func (s *starter) nodeHints(a *allocation) []gang.NodeID {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return a.hints
}

// gathering is the progress of a gang's pods.
type gathering struct {
	gated   []*corev1.Pod
	opening bool
	whole   bool
	undo    string
}

// countPods counts a gang's pods, and records errors of Kubernetes about them.
func (s *starter) countPods(w *watch.Watch, a *allocation, job *batchv1.Job, pods map[int]*corev1.Pod) gathering {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if a.phase != Gated && a.phase != Opening {
		return gathering{} // it was undone meanwhile; nothing of that attempt is recorded any more
	}
	now, all := time.Now(), len(a.containers)
	g := gathering{opening: a.phase == Opening}
	have, placed, ended, trouble := 0, 0, 0, ""
	for rank := range all {
		pod := pods[rank]
		if pod == nil {
			if observe.Completed(job, rank) {
				ended++
			}
			continue
		}
		g.undo = cmp.Or(g.undo, s.invalidReason(w, pod))
		trouble = cmp.Or(trouble, observe.Unschedulable(pod))
		if observe.Accepted(pod) {
			have++
		}
		if pod.Spec.NodeName != "" {
			placed++
		}
		if podspec.Gated(pod) {
			g.gated = append(g.gated, pod)
		}
	}
	have += ended
	g.whole = have == all
	g.undo = cmp.Or(g.undo, observe.NeverComplete(job, pods))
	switch {
	case g.undo != "":
	case a.phase == Gated && len(pods)+ended == all && len(g.gated) < all:
		s.state.setPhase(a, Opening, now) // an earlier master has begun to open it
	case g.whole:
	case job == nil && now.Sub(a.since) > 5*glance, job != nil && job.DeletionTimestamp != nil:
		g.undo = "its Job was deleted by another client"
	case job != nil && len(pods) < all:
		trouble = cmp.Or(w.CreateError(job), trouble)
		if a.ungated && placed > 0 && w.CreateError(job) != "" {
			g.undo = fmt.Sprintf("%d of its pods (%d) exist, without gates: %s", len(pods), all, trouble)
		}
	case g.opening && placed == all:
		s.state.setWaiting(a, waitsNodes, fmt.Sprintf("all its pods (%d) have a node; the nodes have taken %d of them", all, have))
	}
	trouble = cmp.Or(trouble, a.callError)
	scaling := w.ScalingEvent(pods)
	if a.trouble != trouble || a.scaling != scaling {
		a.trouble, a.scaling = trouble, scaling
		s.state.passes.Wake()
	}
	return g
}

// invalidReason returns the reason why a pod can never be part of a complete gang, or "".
func (s *starter) invalidReason(w *watch.Watch, pod *corev1.Pod) string {
	node := w.Node(pod.Spec.NodeName)
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s was deleted before all of them ran", pod.Name)
	case observe.Rejection(pod) != "":
		return observe.Rejection(pod)
	case s.state.switches[rm.AgentID(pod.Spec.NodeName)] != "":
		return fmt.Sprintf("agent %s, where pod %s was placed, is switched off", pod.Spec.NodeName, pod.Name)
	case node != nil && !observe.NodeReady(node) && !observe.Accepted(pod):
		return fmt.Sprintf("agent %s has been given pod %s and is not ready", pod.Spec.NodeName, pod.Name)
	}
	return ""
}

// markRunning records that nodes have accepted all pods of a gang. This is stored before the owner
// is notified of running containers: from then on the allocation is never started again.
func (s *starter) markRunning(ctx context.Context, a *allocation, pods map[int]*corev1.Pod) time.Duration {
	doc := records.Allocation{Attempt: a.attempt}
	if err := s.records.Put(ctx, records.AllocationKey+string(a.Allocation), doc); err != nil {
		return s.reporter.retryLater(ctx, "store the running state", a, err)
	}
	a.recorded = true
	s.state.mu.Lock()
	for _, c := range a.containers {
		c.setPod(pods[c.rank])
	}
	s.state.metrics.gang.Observe(time.Since(a.decided).Seconds())
	a.waiting, a.waitKind, a.reported, a.tries = "", "", "", 0
	s.state.mu.Unlock()
	if !s.state.changePhase(a, Opening, Running) {
		return glance
	}
	return 0
}
