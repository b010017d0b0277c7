package pods

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// finish tells the owner that nothing is left.
func (r *RM) finish(ctx context.Context, a *allocation) time.Duration {
	r.mu.Lock()
	end := rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
	if a.release != nil {
		end.Cause, end.Reason = a.release.Cause, a.release.Reason
	}
	r.mu.Unlock()
	if err := r.cfg.Tasks.Ended(ctx, a.Allocation, end); err != nil {
		return r.again(ctx, "tell of end", a, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := a.transition(Over, end.At); err != nil {
		r.cfg.Log.Error("end allocation", "allocation", a.Allocation, "err", err)
	}
	r.gone.add(a.Allocation)
	delete(a.job.allocations, a.Allocation)
	if len(a.job.allocations) == 0 && !a.job.changed() {
		delete(r.jobs, a.Job)
	}
	r.look(a.Allocation)
	r.stir()
	return 0
}

// clean removes what an ended allocation leaves behind. A master that is interrupted
// here finds that its owner does not know it any more, and removes the rest.
func (r *RM) clean(ctx context.Context, w *watch, a *allocation) time.Duration {
	if a.attempt > 0 && !r.cfg.Leave {
		if _, err := r.deleteJobs(ctx, w, a, metav1.DeletePropagationBackground); err != nil {
			return r.again(ctx, "remove what is left", a, err)
		}
	}
	keys := []string{allocationKey + string(a.Allocation)}
	for _, c := range a.containers {
		if c.lines != nil {
			keys = append(keys, logKey+string(c.id))
		}
	}
	if a.attempt == 0 {
		keys = nil // it never ran
	}
	for _, key := range slices.Backward(keys) {
		if err := r.records.drop(ctx, key); err != nil {
			return r.again(ctx, "clean up finished allocations", a, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.allocations, a.Allocation)
	return 0
}
