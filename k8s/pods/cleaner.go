package pods

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/pods/objects"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/master/rm"
)

// cleaner removes what attempts leave in Kubernetes and in the store.
type cleaner struct {
	cfg        Config
	state      *state
	objects    objects.API
	records    records.Store
	reporter   *reporter
	terminator *terminator
}

// removeAttempt deletes the objects of an attempt, and then queues the allocation again or ends it.
func (r *cleaner) removeAttempt(ctx context.Context, w *watch.Watch, a *allocation) time.Duration {
	if again := r.reporter.reportUndone(ctx, a); again > 0 {
		return again
	}
	left, err := r.objects.DeleteJobs(ctx, r.state.currentJobName(a), w.JobsOf(a.Allocation), metav1.DeletePropagationForeground)
	if err != nil {
		return r.reporter.retryLater(ctx, "delete the attempt's objects", a, err)
	}
	pods := w.AllPodsOf(a.Allocation)
	if left+len(pods) > 0 {
		r.terminator.forceDeleteOverdue(ctx, a, pods)
		return glance
	}
	if a.recorded {
		// It was undone right after it was complete. A restarted master would consider an
		// allocation that ran and has no Job lost.
		if err := r.records.Delete(ctx, records.AllocationKey+string(a.Allocation)); err != nil {
			return r.reporter.retryLater(ctx, "delete the allocation's record", a, err)
		}
		a.recorded = false
	}
	if r.state.isReleased(a) {
		return r.reporter.reportEnd(ctx, a)
	}
	a.forced = nil
	r.state.mu.Lock()
	for _, c := range a.containers {
		c.node, c.pod = "", ""
	}
	r.state.mu.Unlock()
	r.state.changePhase(a, Undoing, Queued)
	return 0
}

// cleanUp deletes what an ended allocation leaves. If a master is interrupted here, its owner does
// not know the allocation any more and the next master removes the rest.
func (r *cleaner) cleanUp(ctx context.Context, w *watch.Watch, a *allocation) time.Duration {
	if a.attempt > 0 && !r.cfg.Leave {
		if _, err := r.objects.DeleteJobs(ctx, r.state.currentJobName(a), w.JobsOf(a.Allocation), metav1.DeletePropagationBackground); err != nil {
			return r.reporter.retryLater(ctx, "delete the allocation's jobs", a, err)
		}
	}
	keys := []string{records.AllocationKey + string(a.Allocation)}
	for _, c := range a.containers {
		if c.lines != nil {
			keys = append(keys, records.LogKey+string(c.id))
		}
	}
	if a.attempt == 0 {
		keys = nil // it never ran
	}
	for _, key := range slices.Backward(keys) {
		if err := r.records.Delete(ctx, key); err != nil {
			return r.reporter.retryLater(ctx, "delete the records of ended allocations", a, err)
		}
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	delete(r.state.allocations, a.Allocation)
	return 0
}

// sweepEvery is the interval between searches for orphans.
const sweepEvery = 30 * time.Second

// sweepOrphans removes orphaned Jobs and documents until ctx ends: those that a killed master had
// created for an allocation that has ended since, and those of a call whose reply was lost.
func (r *cleaner) sweepOrphans(ctx context.Context) {
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

// removeOrphans deletes Jobs of this cluster that belong to no allocation.
func (r *cleaner) removeOrphans(ctx context.Context) {
	for _, job := range r.findOrphans() {
		err := r.objects.DeleteJob(ctx, job)
		switch {
		case err == nil:
			r.cfg.Log.Info("removed orphaned job", "job", job.Name, "allocation", job.Labels[AllocationLabel])
		case ctx.Err() == nil:
			r.cfg.Log.Warn("cannot remove orphaned job", "job", job.Name, "err", err)
		}
	}
}

// findOrphans returns the Jobs that belong to no allocation.
func (r *cleaner) findOrphans() []*batchv1.Job {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	var out []*batchv1.Job
	for _, job := range r.state.watch.AllJobs() {
		// Check the label, so that a wrong server-side filter cannot delete a foreign Job.
		if job.DeletionTimestamp != nil || job.Labels[ClusterLabel] != r.cfg.Cluster || r.cfg.Leave && observe.JobFinished(job) {
			continue
		}
		a := r.state.allocations[rm.AllocationID(job.Labels[AllocationLabel])]
		if a == nil || a.attempt != observe.Attempt(job) && a.phase != Undoing {
			out = append(out, job)
		}
	}
	return out
}

// forgetOrphans deletes documents whose allocation has ended, and expired ones.
func (r *cleaner) forgetOrphans(ctx context.Context) {
	r.state.mu.Lock()
	var keys []string
	for id := range r.state.saved.Allocations {
		if r.state.allocations[id] == nil {
			keys = append(keys, records.AllocationKey+string(id))
		}
	}
	alive := make(map[rm.ContainerID]bool)
	for _, a := range r.state.allocations {
		for _, c := range a.containers {
			alive[c.id] = true
		}
	}
	for id := range r.state.saved.Marks {
		if !alive[id] {
			keys = append(keys, records.LogKey+string(id))
			delete(r.state.saved.Marks, id)
		}
	}
	for id, doc := range r.state.saved.Jobs {
		job, found := r.state.queue.Job(id)
		if !found || job.Empty() && time.Since(doc.At) > records.JobLifetime {
			keys = append(keys, records.JobKey+string(id))
			r.state.queue.Forget(id)
		}
	}
	r.state.saved.Allocations, r.state.saved.Jobs = nil, nil
	r.state.mu.Unlock()
	for _, key := range keys {
		if err := r.records.Delete(ctx, key); err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("cannot delete the records of ended allocations", "err", err)
			return
		}
	}
}
