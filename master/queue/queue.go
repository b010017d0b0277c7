// Package queue keeps the jobs of a resource manager: which allocations each has, what
// was changed for it, and in which order jobs are served. Agents (master/agentrm) and
// Kubernetes (k8s/pods) share it.
//
// It is pure: it reads no clock, stores nothing and has no lock. The mutex of the
// resource manager guards a Queue and everything that it hands out.
package queue

import (
	"github.com/det-deploy/det-deploy/master/rm"
)

// Rules is what differs between resource managers.
type Rules struct {
	Pools []Pool
	// DefaultAux and DefaultCompute are the pools of requests that name none.
	DefaultAux     string
	DefaultCompute string
	// HighFirst serves high priorities first; otherwise low ones are.
	HighFirst bool
	// CheckWeight says what is wrong with a job's new weight.
	CheckWeight func(weight float64) error
	// Fits says why a request could never run in a pool.
	Fits func(pool string, r rm.Request) error
}

// Pool is a resource pool.
type Pool struct {
	Name string
	// DefaultPriority is that of jobs that ask for none.
	DefaultPriority int
}

// Queue is the jobs of all pools.
type Queue struct {
	rules   Rules
	jobs    map[rm.JobID]*Job
	entries map[rm.AllocationID]*Entry
	ended   ended

	// lined is the entries in order, unless they are unsorted; stray says that some are no longer in
	// the queue.
	lined           []*Entry
	stray, unsorted bool
	// changes counts those of jobs.
	changes uint64
	// heads are lists by pool, see headsOf; listings counts those that were made.
	heads    map[string][]*Entry
	listings uint64
}

// New returns a queue without jobs.
func New(r Rules) *Queue {
	return &Queue{rules: r, jobs: make(map[rm.JobID]*Job), entries: make(map[rm.AllocationID]*Entry), heads: make(map[string][]*Entry)}
}

// Add queues a request behind what was changed for its job. The error is
// ErrUnknownPool, or says what is wrong with the request.
func (q *Queue) Add(r rm.Request) (*Entry, error) {
	if err := CheckRequest(r); err != nil {
		return nil, err
	}
	j := q.jobs[r.Job]
	if j != nil && q.hasPool(j.Settings.Pool) {
		r.Pool = j.Settings.Pool
	}
	p, err := q.PoolOf(r)
	if err != nil {
		return nil, err
	}
	priority := r.Priority
	if j != nil && j.Settings.Priority != 0 {
		priority = j.Settings.Priority
	}
	if priority == 0 {
		priority = p.DefaultPriority
	}
	return q.Adopt(r, p.Name, priority), nil
}

// lineRoom is how many entries that are gone are kept in the line, beside one for each that is there.
const lineRoom = 64

// Adopt adds an allocation that was placed before, whatever the rules say of it now.
func (q *Queue) Adopt(r rm.Request, pool string, priority int) *Entry {
	j := q.jobs[r.Job]
	if j == nil {
		j = newJob(r.Job)
		q.jobs[r.Job] = j
	}
	e := &Entry{Request: r, Parent: j, Pool: pool, Priority: priority, Stage: Waiting}
	again := q.entries[r.Allocation]
	if again != nil {
		q.stray, again.withdrawn = true, true
	}
	j.addEntry(e, again)
	q.entries[r.Allocation] = e
	if at := firstOf(j.first, PositionAt(r.Submitted)); at != j.first {
		q.unsorted = q.unsorted || j.first != 0 // its others move ahead with it
		j.first = at
	}
	q.joinLine(e)
	return e
}

// reorder is called when jobs have got other places.
func (q *Queue) reorder() {
	q.unsorted = true
	clear(q.heads)
}

// Known reports whether an allocation is in the queue, or has ended not long ago: one
// that its owner submits again before it has heard of the end must not run twice.
func (q *Queue) Known(id rm.AllocationID) bool { return q.entries[id] != nil || q.ended.has(id) }

// End removes an allocation that has ended, and remembers that it did.
func (q *Queue) End(id rm.AllocationID) {
	q.Withdraw(id)
	q.ended.add(id)
}

// Withdraw removes an allocation as if it had not been added. Its job is kept only
// for what was changed for it.
func (q *Queue) Withdraw(id rm.AllocationID) {
	e := q.entries[id]
	if e == nil {
		return
	}
	delete(q.entries, id)
	q.stray, e.withdrawn = true, true
	clear(q.heads)
	e.Parent.dropEntry(e)
	if len(e.Parent.entries) > 0 {
		return
	}
	e.Parent.first = 0
	if !e.Parent.Settings.Changed() {
		delete(q.jobs, e.Job)
	}
}

// Restore makes known what was changed for a job before a restart.
func (q *Queue) Restore(id rm.JobID, s Settings) {
	if q.jobs[id] == nil {
		q.jobs[id] = newJob(id)
	}
	q.jobs[id].Settings = s
	q.reorder()
}

// Forget drops what was changed for a job that has no allocations; it reports whether
// nothing is kept of it.
func (q *Queue) Forget(id rm.JobID) bool {
	j := q.jobs[id]
	if j != nil && len(j.entries) > 0 {
		return false
	}
	delete(q.jobs, id)
	return true
}

// Job is a job that has allocations, or for which something was changed.
func (q *Queue) Job(id rm.JobID) (*Job, bool) {
	j, found := q.jobs[id]
	return j, found
}
