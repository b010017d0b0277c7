package pods

import (
	"github.com/det-deploy/det-deploy/k8s/pods/observe"

	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/rm"
)

// restoreAllocations takes up what an earlier master has left. What ran goes on running, or was
// lost; what did not is made once more, which changes nothing that is there.
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
			// A kill may have come since the master answers and before this.
			a.attempt, a.release, a.stored = doc.Attempt, cmp.Or(a.release, doc.Release), doc.Release
			s.setPhase(a, Running, now)
			s.fitToJob(a, job)
		case job != nil && job.DeletionTimestamp == nil:
			a.attempt, a.decided = observe.Attempt(job), now
			s.setPhase(a, Making, now)
			switch {
			case observe.PodCount(job) != len(a.containers):
				s.undo(a, "max_slots_per_pod was changed", now)
			case job.Namespace != s.cfg.Namespace:
				s.undo(a, "tasks start in namespace "+s.cfg.Namespace+" now", now)
			}
		case job != nil:
			a.attempt = observe.Attempt(job)
		}
		s.enqueue(id)
	}
	s.wakeScheduler()
}

// fitToJob gives an allocation that runs the shape that its Job has, which may not be the
// one that it would be given today. mu is held.
func (s *state) fitToJob(a *allocation, job *batchv1.Job) {
	switch {
	case job == nil && len(a.containers) == 0:
		s.kill(a, rm.CauseAgentLost, "its Job is gone, and how its pods ended was not observed")
	case job == nil:
	default:
		if n := observe.PodCount(job); n != len(a.containers) {
			a.addContainers(n, a.Slots/n, s.cfg.slots().SlotType)
		}
		if pod, err := gang.PodOf(&job.Spec.Template.Spec); err == nil {
			a.pod = pod
		}
	}
}
