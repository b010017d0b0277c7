package pods

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// begun notes that nodes have taken all pods of a gang. That is stored before the
// owner is told of anything that runs: from then on the allocation is never tried
// again.
func (r *RM) begun(ctx context.Context, a *allocation, pods map[int]*corev1.Pod) time.Duration {
	doc := allocationDoc{Attempt: a.attempt}
	if err := r.records.put(ctx, allocationKey+string(a.Allocation), doc); err != nil {
		return r.again(ctx, "store that it runs", a, err)
	}
	a.noted = true
	r.mu.Lock()
	for _, c := range a.containers {
		c.see(pods[c.rank])
	}
	r.meters.gang.Observe(time.Since(a.decided).Seconds())
	a.waiting, a.kind, a.told, a.tries = "", "", "", 0
	r.mu.Unlock()
	if !r.move(a, Opening, Running) {
		return glance
	}
	return 0
}

// see notes where a container's pod is.
func (c *container) see(pod *corev1.Pod) {
	if pod != nil {
		c.node, c.pod, c.namespace = rm.AgentID(pod.Spec.NodeName), pod.Name, pod.Namespace
	}
}

// tend follows the pods of a running allocation to their ends.
func (r *RM) tend(ctx context.Context, w *watch, a *allocation) time.Duration {
	if again := r.carryOut(ctx, a); again > 0 {
		return again
	}
	next := time.Duration(0)
	pods := w.podsOf(a.Allocation, r.nameOf(a))
	for _, c := range a.containers {
		if c.ended() { // only this worker moves it
			continue
		}
		again := r.tendOne(ctx, w, a, c, pods[c.rank])
		next = sooner(next, again)
	}
	next = sooner(next, r.deleteOrder(ctx, a, pods))
	next = sooner(next, r.freeForced(ctx, w, a))
	next = sooner(next, r.tellTrouble(ctx, a))
	if a.ended() {
		return r.finish(ctx, a)
	}
	return sooner(next, r.untilKilled(a))
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// untilKilled is when a preempted allocation has to be killed.
func (r *RM) untilKilled(a *allocation) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release == nil || a.release.Kill {
		return 0
	}
	return max(time.Until(a.release.By), time.Millisecond)
}

// carryOut stores that an allocation has to go, tells its owner, and sees to it that
// it does not outstay its time.
func (r *RM) carryOut(ctx context.Context, a *allocation) time.Duration {
	r.mu.Lock()
	why, stored := a.release, a.stored
	if why != nil && !why.Kill && !time.Now().Before(why.By) {
		r.kill(a, why.Cause, why.Reason)
		why = a.release
	}
	r.mu.Unlock()
	if why == nil {
		return 0
	}
	if why != stored {
		doc := allocationDoc{Attempt: a.attempt, Release: why}
		if err := r.records.put(ctx, allocationKey+string(a.Allocation), doc); err != nil {
			return r.again(ctx, "store that it has to go", a, err)
		}
		a.stored = why
	}
	if why.Kill || a.asked {
		return 0
	}
	listens, err := r.cfg.Tasks.Preempted(ctx, a.Allocation, why.Reason, why.By)
	if err != nil {
		return r.again(ctx, "tell of preemption", a, err)
	}
	a.asked, a.terminate = true, !listens
	return 0
}

// tendOne follows one pod.
func (r *RM) tendOne(ctx context.Context, w *watch, a *allocation, c *container, pod *corev1.Pod) time.Duration {
	now := time.Now()
	var s sighting
	if pod == nil {
		s = r.vanished(a, c, w.jobOf(a.Allocation, r.nameOf(a)))
	} else {
		s = observe(pod)
		s.heed(w.warning(pod, now))
		r.mu.Lock()
		c.see(pod)
		r.mu.Unlock()
		r.notice(c, pod)
		r.judge(a, c, &s, now)
	}
	r.follow(ctx, a, c, s)
	if s.state != apiv1.Container_STATE_TERMINATED {
		if err := r.tell(ctx, a, c, s); err != nil {
			return r.again(ctx, "tell of container", a, err)
		}
		return r.usher(ctx, a, c, pod, s)
	}
	switch {
	case c.lines != nil && pod == nil:
		c.lines.lose()
	case c.lines != nil:
		c.lines.end()
	}
	if !c.lines.whole() {
		return 0 // it says so when it is
	}
	if s.lost {
		r.mu.Lock()
		r.kill(a, rm.CauseAgentLost, s.exit.GetMessage())
		r.mu.Unlock()
	}
	if s.started && c.state < apiv1.Container_STATE_RUNNING {
		ran := s
		ran.state, ran.exit = apiv1.Container_STATE_RUNNING, nil
		if err := r.tell(ctx, a, c, ran); err != nil {
			return r.again(ctx, "tell of container", a, err)
		}
	}
	if err := r.tell(ctx, a, c, s); err != nil {
		return r.again(ctx, "tell of container", a, err)
	}
	r.stir()
	return 0
}

// vanished is what is seen of a pod that is no more; job is nil when that is gone, too.
func (r *RM) vanished(a *allocation, c *container, job *batchv1.Job) sighting {
	s := sighting{state: apiv1.Container_STATE_TERMINATED, exit: c.verdict}
	switch {
	case s.exit != nil:
	case succeeded(job, c.rank):
		s.started = true
		s.exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Message: "its Job says that it ended well; its pod is gone, and what of its log was not read"}
	default:
		s.lost = true
		s.exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: "its pod is gone, and how it ended was not observed"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release != nil {
		s.lost = false // it was to go
	}
	return s
}

// notice remembers that somebody else had a pod deleted.
func (r *RM) notice(c *container, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil && c.ending.IsZero() && !c.foreign {
		c.foreign = true
		r.cfg.Log.Info("pod is being deleted by another client", "pod", pod.Name, "node", pod.Spec.NodeName)
	}
}

// judge decides the end of what does not end by itself, and who is to blame.
func (r *RM) judge(a *allocation, c *container, s *sighting, now time.Time) {
	c.trouble = ""
	if s.state == apiv1.Container_STATE_TERMINATED {
		r.mu.Lock()
		ours := a.release != nil
		r.mu.Unlock()
		if c.verdict != nil {
			// A kubelet may take a container for ended that never was, when its pod goes.
			s.exit, s.lost, s.started, s.unprepared = c.verdict, false, false, ""
		}
		if c.foreign && !ours && !s.lost && s.exit.GetCode() != 0 {
			s.lost = true
			s.exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: fmt.Sprintf(
				"pod %s was deleted by another client, or its node %s was drained", c.pod, c.node,
			)}
		}
		return
	}
	r.stall(c, *s, now)
}

// tell tells the owner of a state that it does not know.
func (r *RM) tell(ctx context.Context, a *allocation, c *container, s sighting) error {
	if s.state <= c.state {
		return nil
	}
	change := rm.ContainerChange{
		Allocation: a.Allocation, Container: c.id, Agent: c.node, Rank: c.rank,
		State: s.state, Exit: s.exit, Addresses: s.addresses, At: time.Now(),
	}
	if s.state == apiv1.Container_STATE_RUNNING {
		change.Host = s.host
	}
	err := r.cfg.Tasks.Changed(ctx, change)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.state = s.state
	return nil
}

// follow begins to read a container's log once there may be one.
func (r *RM) follow(ctx context.Context, a *allocation, c *container, s sighting) {
	if c.lines != nil || !s.started && s.unprepared == "" || c.pod == "" {
		return
	}
	r.mu.Lock()
	from := r.past.marks[c.id]
	delete(r.past.marks, c.id)
	r.mu.Unlock()
	c.lines = &lines{
		log: r.cfg.Log, pods: r.cfg.Client.CoreV1().Pods(c.namespace), store: r.cfg.Logs, records: r.records,
		allocation: a.Allocation, container: c.id, node: c.node, pod: c.pod, patience: r.cfg.Limits.Lines, meters: r.meters,
		mark: from, marked: from.Seq > 0, last: r.cfg.LastLine,
		ended: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
	}
	l := c.lines
	r.followers.Go(func() {
		if s.unprepared != "" {
			l.tail(ctx, s.unprepared)
		} else {
			l.run(ctx)
		}
		r.look(a.Allocation)
	})
}
