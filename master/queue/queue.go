// Package queue keeps the jobs of a resource manager: the allocations and the settings of each job, and
// the order in which jobs are served. Agents (master/agentrm) and Kubernetes (k8s/pods) share it.
//
// It is pure: it reads no clock, stores nothing and has no lock. The mutex of the resource manager
// guards a Queue and everything that it returns.
package queue

import (
	"cmp"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Rules configures a Queue for a resource manager.
type Rules struct {
	Pools []Pool
	// DefaultAux and DefaultCompute are the pools of requests without and with slots that name none.
	DefaultAux     string
	DefaultCompute string
	// HighFirst serves high priorities first; otherwise low ones come first.
	HighFirst bool
	// CheckWeight returns an error if a job cannot be given the weight.
	CheckWeight func(weight float64) error
	// Fits returns an error if a request could never run in a pool.
	Fits func(pool string, r rm.Request) error
}

// Pool is a resource pool.
type Pool struct {
	Name string
	// DefaultPriority is the priority of jobs that name none.
	DefaultPriority int
}

// Queue holds the jobs of all pools.
type Queue struct {
	rules   Rules
	jobs    map[rm.JobID]*Job
	entries map[rm.AllocationID]*Entry
	ended   ended

	// lined is the entries in serving order, unless unsorted is set. If stray is set, some of them have
	// been withdrawn.
	lined           []*Entry
	stray, unsorted bool
	// changes counts the changes made to jobs.
	changes uint64
	// heads caches the results of headsOf by pool; listings counts those computed.
	heads    map[string][]*Entry
	listings uint64
}

// New returns an empty queue.
func New(r Rules) *Queue {
	return &Queue{rules: r, jobs: make(map[rm.JobID]*Job), entries: make(map[rm.AllocationID]*Entry), heads: make(map[string][]*Entry)}
}

// Add queues a request; the settings of its job override the request's. It returns ErrUnknownPool if the
// pool does not exist, or an error that names the invalid field.
func (q *Queue) Add(r rm.Request) (*Entry, error) {
	e, err := q.Preview(r)
	if err != nil {
		return nil, err
	}
	return q.Adopt(e.Request, e.Pool, e.Priority), nil
}

// Preview returns the entry that Add would queue, without queueing it.
func (q *Queue) Preview(r rm.Request) (*Entry, error) {
	if err := CheckRequest(r); err != nil {
		return nil, err
	}
	j := q.jobs[r.Job]
	if j == nil {
		j = newJob(r.Job)
		j.first = PositionAt(r.Submitted)
	}
	if q.hasPool(j.Settings.Pool) {
		r.Pool = j.Settings.Pool
	}
	p, err := q.PoolOf(r)
	if err != nil {
		return nil, err
	}
	priority := cmp.Or(j.Settings.Priority, r.Priority, p.DefaultPriority)
	return &Entry{Request: r, Parent: j, Pool: p.Name, Priority: priority, Stage: Waiting}, nil
}

// lineRoom is the number of withdrawn entries that the line may hold in addition to one for each entry
// of the queue.
const lineRoom = 64

// Adopt adds an allocation that was placed before a restart. It does not check the rules, which may have
// changed since.
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
		q.unsorted = q.unsorted || j.first != 0 // the job's other allocations move ahead with it
		j.first = at
	}
	q.joinLine(e)
	return e
}

// reorder invalidates the order after the positions of jobs have changed.
func (q *Queue) reorder() {
	q.unsorted = true
	clear(q.heads)
}

// Known reports whether an allocation is queued or has ended recently. Its owner may submit it again
// before it learns of the end, and it must not run twice.
func (q *Queue) Known(id rm.AllocationID) bool { return q.entries[id] != nil || q.ended.has(id) }

// End removes an allocation that has ended, and remembers it as ended.
func (q *Queue) End(id rm.AllocationID) {
	q.Withdraw(id)
	q.ended.add(id)
}

// Withdraw removes an allocation as if it had never been added. Its job is kept if it has other
// allocations or settings.
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

// Restore restores the settings of a job after a restart.
func (q *Queue) Restore(id rm.JobID, s Settings) {
	if q.jobs[id] == nil {
		q.jobs[id] = newJob(id)
	}
	q.jobs[id].Settings = s
	q.reorder()
}

// Forget deletes the settings of a job without allocations. It reports false if the job has allocations,
// and is kept.
func (q *Queue) Forget(id rm.JobID) bool {
	j := q.jobs[id]
	if j != nil && len(j.entries) > 0 {
		return false
	}
	delete(q.jobs, id)
	return true
}

// Job returns the job, and reports whether it has allocations or settings.
func (q *Queue) Job(id rm.JobID) (*Job, bool) {
	j, found := q.jobs[id]
	return j, found
}
