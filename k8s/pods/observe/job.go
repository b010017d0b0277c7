package observe

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// Completed reports whether a Job has recorded the success of the pod of a rank. A Job records it
// before the pod can be deleted, so this is valid when the pod no longer exists.
func Completed(job *batchv1.Job, rank int) bool {
	return job != nil && hasIndex(job.Status.CompletedIndexes, rank)
}

// NeverComplete returns the reason why a Job will not create its missing pods, because a Job tries
// each rank only once. It returns "" if the Job may still create them.
func NeverComplete(job *batchv1.Job, pods map[int]*corev1.Pod) string {
	if job == nil {
		return ""
	}
	for rank := range PodCount(job) {
		if pods[rank] == nil && !Completed(job, rank) && (JobFinished(job) || hasFailed(job, rank)) {
			return fmt.Sprintf("the pod of rank %d is gone, and its Job %s makes no other%s", rank, job.Name, failureSuffix(job))
		}
	}
	return ""
}

func hasFailed(job *batchv1.Job, rank int) bool {
	return job.Status.FailedIndexes != nil && hasIndex(*job.Status.FailedIndexes, rank)
}

// failureSuffix returns the Job's failure message as a suffix, or "".
func failureSuffix(job *batchv1.Job) string {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return ": " + FirstText(c.Message, c.Reason, "it has failed")
		}
	}
	return ""
}

// hasIndex reports whether a rank is in a list in the Job format: 0,2-5,7.
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

// PodCount returns the number of pods of a Job, at least one.
func PodCount(job *batchv1.Job) int {
	if n := job.Spec.Completions; n != nil && *n > 0 {
		return int(*n)
	}
	return 1
}

// Attempt returns the number of the attempt of a Job.
func Attempt(job *batchv1.Job) int {
	n, err := strconv.Atoi(job.Labels[podspec.LabelAttempt])
	if err != nil {
		return 1
	}
	return n
}

// JobFinished reports whether a Job is complete or has failed.
func JobFinished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return true
		}
	}
	return false
}
