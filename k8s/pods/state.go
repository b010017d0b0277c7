package pods

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/queue/passes"
	"github.com/det-deploy/det-deploy/master/rm"
)

// state contains all allocations. Every part of the resource manager reads and changes it; changes
// wake the scheduler, a worker, or both.
type state struct {
	cfg     Config
	metrics *metrics
	passes  *passes.Passes
	// work is the queue of allocations for workers.
	work workqueue.TypedDelayingInterface[rm.AllocationID]

	// capacity, changed and waking are updated by the watches and have their own locks.
	capacity *nodes.Capacity
	changed  changedPods
	waking   atomic.Bool
	// woken is the time of the last pass for wakeSoon, in nanoseconds since began.
	woken atomic.Int64
	began time.Time

	// mu guards all fields below, and the allocations.
	mu sync.Mutex
	// watch is nil until it is synced, and unknown is the reason.
	watch       *watch.Watch
	unknown     string
	saved       records.Saved
	switches    map[rm.AgentID]rm.Switch
	allocations map[rm.AllocationID]*allocation
	queue       *queue.Queue
}

func newState(c Config) *state {
	return &state{
		cfg: c, began: time.Now(), metrics: newMetrics(), passes: passes.New(), capacity: nodes.NewCapacity(),
		work:        workqueue.NewTypedDelayingQueue[rm.AllocationID](),
		switches:    make(map[rm.AgentID]rm.Switch),
		allocations: make(map[rm.AllocationID]*allocation),
		queue:       newQueue(c),
	}
}

// onChange is called after each change in Kubernetes.
func (s *state) onChange(id rm.AllocationID, decides bool) {
	if decides && id != "" {
		s.changed.note(id)
	}
	s.enqueueAllocation(id)
	if decides {
		s.wakeSoon()
	}
}

// gatherChanges is the delay of a pass after a change in Kubernetes, to combine it with others:
// they come in hundreds. While they continue, passes for them are gatherCrowd apart, because each
// pass evaluates all gangs, and Kubernetes takes seconds to execute its decisions.
const (
	gatherChanges = 20 * time.Millisecond
	gatherCrowd   = 100 * time.Millisecond
)

// gatherFor returns the delay of a pass, given the time since the last pass for changes.
func gatherFor(since time.Duration) time.Duration { return max(gatherChanges, gatherCrowd-since) }

// wakeSoon schedules one pass for all changes of about the same time.
func (s *state) wakeSoon() {
	if s.waking.Swap(true) {
		return
	}
	time.AfterFunc(gatherFor(time.Since(s.began)-time.Duration(s.woken.Load())), func() {
		s.woken.Store(int64(time.Since(s.began)))
		s.waking.Store(false)
		s.passes.Wake()
	})
}

// setUnknown records why the watch is not synced yet.
func (s *state) setUnknown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = fmt.Sprintf("the master does not know yet what is in Kubernetes: %v", err)
}

func (s *state) enqueueAllocation(id rm.AllocationID) {
	if id != "" {
		s.work.Add(id)
	}
}

// changePhase changes the phase of an allocation, unless another goroutine was faster. It returns
// false then. A worker reconciles the allocation afterwards.
func (s *state) changePhase(a *allocation, from, to Phase) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.enqueueAllocation(a.Allocation)
	defer s.wakeSoon()
	if a.phase != from {
		return false
	}
	if err := a.moveTo(to, time.Now()); err != nil {
		s.cfg.Log.Error("move allocation", "allocation", a.Allocation, "err", err)
		return false
	}
	return true
}

func (s *state) isReleased(a *allocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.release != nil
}

// setWaiting records the reason why an allocation waits. mu is held.
func (s *state) setWaiting(a *allocation, kind, reason string) {
	a.waiting = reason
	if a.waitKind == kind {
		return
	}
	a.waitKind, a.waitSince = kind, time.Now()
	s.enqueueAllocation(a.Allocation)
}

// Kinds of reasons in addition to those of k8s/gang: an attempt was undone, or nodes have not
// accepted the pods that the scheduler has bound to them.
const (
	waitsUndone = "undone"
	waitsNodes  = "nodes"
)

// undoAttempt deletes an allocation's objects; it is tried again after until. mu is held.
func (s *state) undoAttempt(a *allocation, why string, until time.Time) {
	now := time.Now()
	if err := a.moveTo(Undoing, now); err != nil {
		return // already undone or running
	}
	a.trouble, a.callError, a.scaling, a.undone, a.until = "", "", nil, why, until
	if !until.IsZero() && a.release == nil {
		s.metrics.undone.Inc()
		a.tries++
		s.cfg.Log.Info("undoing the attempt", "allocation", a.Allocation, "why", why, "tries", a.tries, "until", until)
	}
	if a.release == nil {
		s.setWaiting(a, waitsUndone, why)
	}
	s.enqueueAllocation(a.Allocation)
	s.passes.Wake()
}

// currentJobName returns the name of the Job of the allocation's current attempt.
func (s *state) currentJobName(a *allocation) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.jobName()
}

// refuseAllocation ends an allocation that cannot run.
func (s *state) refuseAllocation(a *allocation, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killAllocation(a, rm.CauseRefused, err.Error())
	s.undoAttempt(a, err.Error(), time.Time{})
}

// giveUp undoes an attempt; the allocation is tried again after a pause.
func (s *state) giveUp(a *allocation, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.cfg.Gang
	s.undoAttempt(a, why, time.Now().Add(min(o.BackOff<<min(a.tries, 16), o.MaxBackOff)))
}

// addAllocation adds an allocation, with the changed settings of its job. mu is held.
func (s *state) addAllocation(q rm.Request) error {
	_, ran := s.saved.Allocations[q.Allocation]
	e, err := s.queue.Add(q)
	if err != nil && ran {
		e = s.queue.Adopt(q, q.Pool, s.priorityOf(q))
	} else if err != nil {
		return err
	}
	a := &allocation{Entry: e, phase: Queued, since: time.Now()}
	if shapeErr := s.cfg.shapeAllocation(a); shapeErr != nil {
		err = cmp.Or(err, shapeErr)
	}
	if err != nil && !ran {
		s.queue.Withdraw(q.Allocation)
		return err
	}
	if err != nil {
		// A running task continues regardless of later changes; its shape is taken from its Job.
		s.cfg.Log.Warn("what runs could not be run again", "allocation", q.Allocation, "err", err)
	}
	s.allocations[q.Allocation] = a
	return nil
}

// priorityOf returns the priority of a request whose resource pool no longer exists.
func (s *state) priorityOf(q rm.Request) int {
	changed := 0
	if j, found := s.queue.Job(q.Job); found {
		changed = j.Settings.Priority
	}
	return cmp.Or(changed, q.Priority, gang.DefaultPriority)
}

// preemptAllocation asks a running allocation to save its state and stop. A repeated request keeps
// the first deadline.
func (s *state) preemptAllocation(a *allocation, reason string, now time.Time) {
	switch {
	case a.phase != Running:
		s.killAllocation(a, rm.CausePreempted, reason)
	case a.release == nil:
		a.release = &records.Release{Cause: rm.CausePreempted, Reason: reason, By: now.Add(a.PreemptionTimeout)}
		s.enqueueAllocation(a.Allocation)
		s.passes.Wake()
	}
}

// killAllocation ends an allocation in any phase. The first cause is kept.
func (s *state) killAllocation(a *allocation, cause rm.Cause, reason string) {
	if a.phase == Over || a.wasKilled() {
		return
	}
	if a.release == nil {
		a.release = &records.Release{Cause: cause, Reason: reason}
	}
	harder := *a.release // copy, because the earlier one may be in the process of being stored
	harder.Kill = true
	a.release = &harder
	s.enqueueAllocation(a.Allocation)
	s.passes.Wake()
}

// loseAllocation asks an allocation to save its state and stop, because one of its pods will be
// removed at the given time. mu is held.
func (s *state) loseAllocation(a *allocation, reason string, by time.Time) {
	if a.phase != Running || a.release != nil {
		return
	}
	a.release = &records.Release{Cause: rm.CauseAgentLost, Reason: reason, By: by}
	s.enqueueAllocation(a.Allocation)
	s.passes.Wake()
}

// loseNode ends an allocation with a pod that its node does not stop. If the allocation was killed
// because another rank failed, the cause becomes the lost node, because that rank failed as a
// consequence. mu is held.
func (s *state) loseNode(a *allocation, reason string) {
	s.killAllocation(a, rm.CauseAgentLost, reason)
	if a.release == nil || a.release.Cause != rm.CauseKilled {
		return
	}
	lost := *a.release // copy, because the earlier one may be in the process of being stored
	lost.Cause, lost.Reason = rm.CauseAgentLost, reason
	a.release = &lost
	s.enqueueAllocation(a.Allocation)
}

// setPhase moves an allocation whose phase was checked. mu is held.
func (s *state) setPhase(a *allocation, to Phase, now time.Time) {
	if err := a.moveTo(to, now); err != nil {
		s.cfg.Log.Error("move allocation", "allocation", a.Allocation, "err", err)
	}
}

// restoreAllocations restores the allocations of an earlier master. Running ones continue or are
// lost; the objects of others are created again, which changes no existing object.
func (s *state) restoreAllocations() {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := make(map[rm.AllocationID]*batchv1.Job)
	for _, job := range s.watch.AllJobs() {
		id := rm.AllocationID(job.Labels[AllocationLabel])
		if have := latest[id]; have == nil || observe.Attempt(have) < observe.Attempt(job) {
			latest[id] = job
		}
	}
	now := time.Now()
	for id, a := range s.allocations {
		doc, ran := s.saved.Allocations[id]
		job := latest[id]
		switch {
		case ran:
			// A kill may have arrived after the master began to answer and before this.
			a.attempt, a.release, a.stored = doc.Attempt, cmp.Or(a.release, doc.Release), doc.Release
			s.setPhase(a, Running, now)
			s.fitToJob(a, job)
		case job != nil && job.DeletionTimestamp == nil:
			a.attempt, a.decided = observe.Attempt(job), now
			s.setPhase(a, Making, now)
			switch {
			case observe.PodCount(job) != len(a.containers):
				s.undoAttempt(a, "max_slots_per_pod was changed", now)
			case job.Namespace != s.cfg.Namespace:
				s.undoAttempt(a, "tasks start in namespace "+s.cfg.Namespace+" now", now)
			}
		case job != nil:
			a.attempt = observe.Attempt(job)
		}
		s.enqueueAllocation(id)
	}
	s.passes.Wake()
}

// fitToJob sets the shape of a running allocation to that of its Job, which may differ from the
// shape under the current configuration. mu is held.
func (s *state) fitToJob(a *allocation, job *batchv1.Job) {
	switch {
	case job == nil && len(a.containers) == 0:
		s.killAllocation(a, rm.CauseAgentLost, "its Job is gone, and how its pods ended was not observed")
	case job == nil:
	default:
		if n := observe.PodCount(job); n != len(a.containers) {
			a.addContainers(n, a.Slots/n, s.cfg.slotTemplate().SlotType)
		}
		if pod, err := gang.PodOf(&job.Spec.Template.Spec); err == nil {
			a.pod = pod
		}
	}
}
