package pods

import (
	"cmp"
	"context"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// adopt takes up what an earlier master has left. What ran goes on running, or was
// lost; what did not is made once more, which changes nothing that is there.
func (r *RM) adopt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := make(map[rm.AllocationID]*batchv1.Job)
	for _, job := range r.watch.allJobs() {
		id := rm.AllocationID(job.Labels[AllocationLabel])
		if have := latest[id]; have == nil || attemptOf(have) < attemptOf(job) {
			latest[id] = job
		}
	}
	now := time.Now()
	for id, a := range r.allocations {
		doc, ran := r.past.allocations[id]
		job := latest[id]
		switch {
		case ran:
			// A kill may have come since the master answers and before this.
			a.attempt, a.release, a.stored = doc.Attempt, cmp.Or(a.release, doc.Release), doc.Release
			r.resume(a, Running, now)
			r.fit(a, job)
		case job != nil && job.DeletionTimestamp == nil:
			a.attempt, a.decided = attemptOf(job), now
			r.resume(a, Making, now)
			switch {
			case podsOf(job) != len(a.containers):
				r.undo(a, "max_slots_per_pod was changed", now)
			case job.Namespace != r.cfg.Namespace:
				r.undo(a, "tasks start in namespace "+r.cfg.Namespace+" now", now)
			}
		case job != nil:
			a.attempt = attemptOf(job)
		}
		r.look(id)
	}
	r.stir()
}

// fit gives an allocation that runs the shape that its Job has, which may not be the
// one that it would be given today. RM.mu is held.
func (r *RM) fit(a *allocation, job *batchv1.Job) {
	switch {
	case job == nil && len(a.containers) == 0:
		r.kill(a, rm.CauseAgentLost, "its Job is gone, and how its pods ended was not observed")
	case job == nil:
	default:
		if n := podsOf(job); n != len(a.containers) {
			a.contain(n, a.Slots/n, r.cfg.slots().SlotType)
		}
		if pod, err := gang.PodOf(&job.Spec.Template.Spec); err == nil {
			a.pod = pod
		}
	}
}

// podsOf is how many pods a Job has, at least one.
func podsOf(job *batchv1.Job) int {
	if n := job.Spec.Completions; n != nil && *n > 0 {
		return int(*n)
	}
	return 1
}

func (r *RM) resume(a *allocation, to Phase, now time.Time) {
	if err := a.transition(to, now); err != nil {
		r.cfg.Log.Error("take up allocation", "allocation", a.Allocation, "err", err)
	}
}

// attemptOf is the number of a Job among those of its allocation.
func attemptOf(job *batchv1.Job) int {
	n, err := strconv.Atoi(job.Labels[podspec.LabelAttempt])
	if err != nil {
		return 1
	}
	return n
}

// sweepEvery is how often what belongs to nobody is looked for.
const sweepEvery = 30 * time.Second

// sweep removes what belongs to nobody until ctx ends: what a master that was killed
// had made for an allocation that has ended since, or what a call has made whose
// answer was lost.
func (r *RM) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		r.removeOrphans(ctx)
		r.forgetOrphans(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// removeOrphans deletes Jobs of this cluster that no allocation has.
func (r *RM) removeOrphans(ctx context.Context) {
	how := metav1.DeletePropagationBackground
	for _, job := range r.orphans() {
		err := r.cfg.Client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
			PropagationPolicy: &how, Preconditions: metav1.NewUIDPreconditions(string(job.UID)),
		})
		switch {
		case err == nil:
			r.cfg.Log.Info("removed a job that belongs to no task", "job", job.Name, "allocation", job.Labels[AllocationLabel])
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil:
			r.cfg.Log.Warn("remove a job that belongs to no task", "job", job.Name, "err", err)
		}
	}
}

func (r *RM) orphans() []*batchv1.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*batchv1.Job
	for _, job := range r.watch.allJobs() {
		// The server's filter is not all that stands between this and somebody
		// else's Job.
		if job.DeletionTimestamp != nil || job.Labels[ClusterLabel] != r.cfg.Cluster || r.cfg.Leave && over(job) {
			continue
		}
		a := r.allocations[rm.AllocationID(job.Labels[AllocationLabel])]
		if a == nil || a.attempt != attemptOf(job) && a.phase != Undoing {
			out = append(out, job)
		}
	}
	return out
}

func over(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return true
		}
	}
	return false
}

// forgetOrphans deletes documents whose allocation has ended, or whose time has.
func (r *RM) forgetOrphans(ctx context.Context) {
	r.mu.Lock()
	var keys []string
	for id := range r.past.allocations {
		if r.allocations[id] == nil {
			keys = append(keys, allocationKey+string(id))
		}
	}
	alive := make(map[rm.ContainerID]bool)
	for _, a := range r.allocations {
		for _, c := range a.containers {
			alive[c.id] = true
		}
	}
	for id := range r.past.marks {
		if !alive[id] {
			keys = append(keys, logKey+string(id))
			delete(r.past.marks, id)
		}
	}
	for id, doc := range r.past.jobs {
		if j := r.jobs[id]; j == nil || len(j.allocations) == 0 && time.Since(doc.At) > jobMemory {
			keys = append(keys, jobKey+string(id))
			delete(r.jobs, id)
		}
	}
	r.past.allocations, r.past.jobs = nil, nil
	r.mu.Unlock()
	for _, key := range keys {
		if err := r.records.drop(ctx, key); err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("clean up finished allocations", "err", err)
			return
		}
	}
}
