package queue

import (
	"cmp"
	"iter"
	"slices"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Settings is what was changed for a job; zero values were not. They hold for its later
// allocations, too.
type Settings struct {
	Priority int
	Weight   *float64
	// MaxSlots of 0 takes the request's limit away.
	MaxSlots *int
	Pool     string
	// MovedTo replaces the time of submission in the order of the queue.
	MovedTo Position
}

// Changed reports whether anything was.
func (s Settings) Changed() bool { return s != Settings{} }

// Job is what its allocations share.
type Job struct {
	ID       rm.JobID
	Settings Settings
	// entries are in no order: most jobs have one.
	entries []*Entry
	// first is the position of the allocation that was submitted first; 0 without any.
	first Position
	// listed is the number of the last list that it is in.
	listed uint64
}

func newJob(id rm.JobID) *Job { return &Job{ID: id} }

// addEntry adds an allocation, in the place of one of the same name.
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

// Empty reports whether the job has no allocations: only what was changed for it is known.
func (j *Job) Empty() bool { return len(j.entries) == 0 }

// Allocations are those that the job has, in no order.
func (j *Job) Allocations() iter.Seq[rm.AllocationID] {
	return func(yield func(rm.AllocationID) bool) {
		for _, e := range j.entries {
			if !yield(e.Allocation) {
				return
			}
		}
	}
}

// Pool is the one that its first allocation is in.
func (j *Job) Pool() string {
	if e := j.firstAllocation(); e != nil {
		return e.Pool
	}
	return j.Settings.Pool
}

// Priority is that of its first allocation.
func (j *Job) Priority() int {
	if e := j.firstAllocation(); e != nil {
		return e.Priority
	}
	return j.Settings.Priority
}

// Weight is what the job was changed to, or what it was submitted with, or 1.
func (j *Job) Weight() float64 {
	if j.Settings.Weight != nil {
		return *j.Settings.Weight
	}
	if e := j.firstAllocation(); e != nil && e.Weight != 0 {
		return e.Weight
	}
	return 1
}

// Position is where the job stands among those of its priority.
func (j *Job) Position() Position {
	if j.Settings.MovedTo != 0 {
		return j.Settings.MovedTo
	}
	return j.first
}

// firstAllocation is the allocation that was submitted first, nil if there is none.
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
