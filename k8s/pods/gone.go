package pods

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// succeeded reports whether a Job has seen the pod of a rank end well. It counts a pod
// before it lets it be deleted, so that this holds when the pod is gone.
func succeeded(job *batchv1.Job, rank int) bool {
	return job != nil && hasIndex(job.Status.CompletedIndexes, rank)
}

// neverWhole says why the pods that a Job lacks will never come: no rank is tried twice
// within one Job. It is empty for a Job that may still make them.
func neverWhole(job *batchv1.Job, pods map[int]*corev1.Pod) string {
	if job == nil {
		return ""
	}
	for rank := range podsOf(job) {
		if pods[rank] == nil && !succeeded(job, rank) && (over(job) || failed(job, rank)) {
			return fmt.Sprintf("the pod of rank %d is gone, and its Job %s makes no other%s", rank, job.Name, becauseOf(job))
		}
	}
	return ""
}

func failed(job *batchv1.Job, rank int) bool {
	return job.Status.FailedIndexes != nil && hasIndex(*job.Status.FailedIndexes, rank)
}

// becauseOf is what a Job says of its own end.
func becauseOf(job *batchv1.Job) string {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return ": " + message(c.Message, c.Reason, "it has failed")
		}
	}
	return ""
}

// hasIndex reports whether a rank is in a list as Jobs write it: 0,2-5,7.
func hasIndex(list string, rank int) bool {
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err == nil && err2 == nil && first <= rank && rank <= last {
			return true
		}
	}
	return false
}

// jobOf is the Job of one of an allocation's attempts by its name, in whichever namespace
// it was made; nil for none.
func (w *watch) jobOf(id rm.AllocationID, name string) *batchv1.Job {
	for _, job := range w.jobsOf(id) {
		if job.Name == name {
			return job
		}
	}
	return nil
}
