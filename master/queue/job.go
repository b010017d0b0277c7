package queue

import (
	"cmp"
	"iter"
	"slices"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Settings are the changes made to a job; zero fields were not changed. They apply to its later
// allocations as well.
type Settings struct {
	Priority int
	Weight   *float64
	// MaxSlots of 0 removes the limit of the request.
	MaxSlots *int
	Pool     string
	// MovedTo replaces the submission time in the order of the queue.
	MovedTo Position
}

// Changed reports whether any setting was changed.
func (s Settings) Changed() bool { return s != Settings{} }

// Job is a job and its allocations.
type Job struct {
	ID       rm.JobID
	Settings Settings
	// entries are unordered. Most jobs have one.
	entries []*Entry
	// first is the position of the allocation that was submitted first; 0 if there are no allocations.
	first Position
	// listed is the number of the last listing that included the job.
	listed uint64
}

func newJob(id rm.JobID) *Job { return &Job{ID: id} }

// addEntry adds an allocation. It replaces again, an earlier entry of the same allocation.
func (j *Job) addEntry(e, again *Entry) {
	if again != nil && again.Parent == j {
		e.at = again.at
		j.entries[e.at] = e
		return
	}
	e.at = len(j.entries)
	j.entries = append(j.entries, e)
}

func (j *Job) dropEntry(e *Entry) {
	last := len(j.entries) - 1
	j.entries[e.at] = j.entries[last]
	j.entries[e.at].at = e.at
	j.entries[last] = nil
	j.entries = j.entries[:last]
}

// Empty reports whether the job has no allocations, only settings.
func (j *Job) Empty() bool { return len(j.entries) == 0 }

// Allocations returns the job's allocations in no particular order.
func (j *Job) Allocations() iter.Seq[rm.AllocationID] {
	return func(yield func(rm.AllocationID) bool) {
		for _, e := range j.entries {
			if !yield(e.Allocation) {
				return
			}
		}
	}
}

// Pool returns the pool of the job's first allocation.
func (j *Job) Pool() string {
	if e := j.firstAllocation(); e != nil {
		return e.Pool
	}
	return j.Settings.Pool
}

// Priority returns the priority of the job's first allocation.
func (j *Job) Priority() int {
	if e := j.firstAllocation(); e != nil {
		return e.Priority
	}
	return j.Settings.Priority
}

// Weight returns the weight that was set for the job, or the weight at submission, or 1.
func (j *Job) Weight() float64 {
	if j.Settings.Weight != nil {
		return *j.Settings.Weight
	}
	if e := j.firstAllocation(); e != nil && e.Weight != 0 {
		return e.Weight
	}
	return 1
}

// Position returns the job's position among the jobs of its priority.
func (j *Job) Position() Position {
	if j.Settings.MovedTo != 0 {
		return j.Settings.MovedTo
	}
	return j.first
}

// firstAllocation returns the allocation that was submitted first, or nil if the job is empty.
func (j *Job) firstAllocation() *Entry {
	var head *Entry
	for _, e := range j.entries {
		if head == nil || compareSubmissions(e, head) < 0 {
			head = e
		}
	}
	return head
}

func (j *Job) sortedEntries() []*Entry {
	out := slices.Clone(j.entries)
	slices.SortFunc(out, compareSubmissions)
	return out
}

func compareSubmissions(a, b *Entry) int {
	return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.Allocation, b.Allocation))
}

func (j *Job) setPriority(priority int) {
	j.Settings.Priority = priority
	for _, e := range j.entries {
		e.Priority = priority
	}
}
