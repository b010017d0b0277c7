package queue

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Line is one job in the queue of a pool.
type Line struct {
	// Entries are the job's allocations in the pool, in order of submission.
	Entries []*Entry
	// Running reports whether an allocation of the job is running, and Backfilled whether it runs
	// although an allocation ahead of it waits.
	Running    bool
	Backfilled bool
	// Ahead is the number of jobs of the pool that are served before this one.
	Ahead int
}

// List returns the jobs of a pool in the order in which they are served. The position of a job is that
// of its first allocation in the pool.
func (q *Queue) List(pool string) []Line {
	heads, waiting := q.headsOf(pool), q.firstWaiting(pool)
	out := make([]Line, 0, len(heads))
	for i := range heads {
		out = append(out, q.lineAt(heads, i, waiting))
	}
	return out
}

// Part returns a range of the jobs of pools, one pool after the other. It visits only the jobs of that
// range, unless it has to filter by state.
func (q *Queue) Part(pools []string, p rm.QueuePart) []Line {
	if p.Job != "" {
		return q.linesOf(pools, p.Job)
	}
	if len(p.States) > 0 {
		var all []Line
		for _, pool := range pools {
			all = append(all, q.List(pool)...)
		}
		return rm.CutQueue(p, all, Line.State)
	}
	total := 0
	for _, pool := range pools {
		total += len(q.headsOf(pool))
	}
	from, to := 0, total
	if p.Cut != nil {
		from, to = p.Cut(total)
	}
	if p.Descending {
		from, to = total-to, total-from
	}
	out := make([]Line, 0, to-from)
	for _, pool := range pools {
		heads := q.headsOf(pool)
		if first, last := max(from, 0), min(to, len(heads)); first < last {
			waiting := q.firstWaiting(pool)
			for i := first; i < last; i++ {
				out = append(out, q.lineAt(heads, i, waiting))
			}
		}
		from, to = from-len(heads), to-len(heads)
	}
	if p.Descending {
		slices.Reverse(out)
	}
	return out
}

// linesOf returns the lines of one job.
func (q *Queue) linesOf(pools []string, job rm.JobID) []Line {
	var out []Line
	for _, pool := range pools {
		heads := q.headsOf(pool)
		if i := slices.IndexFunc(heads, func(e *Entry) bool { return e.Job == job }); i >= 0 {
			out = append(out, q.lineAt(heads, i, q.firstWaiting(pool)))
		}
	}
	return out
}

// headsOf returns the first allocation of each job of a pool in serving order. The result is cached
// until an allocation is added or removed, or a job is changed.
func (q *Queue) headsOf(pool string) []*Entry {
	if kept, found := q.heads[pool]; found {
		return kept
	}
	q.lineUp()
	q.listings++
	out := make([]*Entry, 0, len(q.lined))
	for _, e := range q.lined {
		if e.Pool == pool && e.Parent.listed != q.listings {
			e.Parent.listed = q.listings
			out = append(out, e)
		}
	}
	q.heads[pool] = out
	return out
}

// firstWaiting returns the first allocation of a pool, in serving order, that is not running, or nil.
func (q *Queue) firstWaiting(pool string) *Entry {
	for _, e := range q.lined { // sorted by headsOf
		if e.Pool == pool && e.Stage != Running {
			return e
		}
	}
	return nil
}

// lineAt returns the job of the i-th head.
func (q *Queue) lineAt(heads []*Entry, i int, waiting *Entry) Line {
	l := Line{Entries: heads[i : i+1 : i+1], Ahead: i} // most jobs have one
	if len(heads[i].Parent.entries) > 1 {
		l.Entries = q.entriesIn(heads[i].Parent, heads[i].Pool)
	}
	for _, e := range l.Entries {
		if e.Stage == Running {
			l.Running = true
			l.Backfilled = l.Backfilled || waiting != nil && q.compareEntries(waiting, e) < 0
		}
	}
	return l
}

// entriesIn returns the allocations of a job that are in a pool.
func (q *Queue) entriesIn(j *Job, pool string) []*Entry {
	var out []*Entry
	for _, e := range j.entries {
		if e.Pool == pool {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, q.compareEntries)
	return out
}

// lineUp brings the sorted line up to date with the changes since the last listing.
func (q *Queue) lineUp() {
	if q.stray {
		q.dropStray()
	}
	if q.unsorted {
		slices.SortFunc(q.lined, q.compareEntries)
		q.unsorted = false
	}
}

// dropStray removes withdrawn entries from the line.
func (q *Queue) dropStray() {
	q.lined = slices.DeleteFunc(q.lined, func(e *Entry) bool { return e.withdrawn })
	q.stray = false
}

// joinLine appends an entry to the line, which stays sorted if the entry belongs at its end.
func (q *Queue) joinLine(e *Entry) {
	if len(q.lined) > lineRoom+2*len(q.entries) {
		q.dropStray() // the next listing may be far off
	}
	for n := len(q.lined); n > 0 && q.lined[n-1].withdrawn; n-- {
		q.lined = q.lined[:n-1] // its job may have lost its position
	}
	if n := len(q.lined); n > 0 && q.compareEntries(q.lined[n-1], e) > 0 {
		q.unsorted = true
	}
	q.lined = append(q.lined, e)
	clear(q.heads)
}

func (q *Queue) compareEntries(a, b *Entry) int {
	if c := q.comparePriorities(a.Priority, b.Priority); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Parent.Position(), b.Parent.Position()); c != 0 {
		return c
	}
	return compareSubmissions(a, b)
}

func (q *Queue) comparePriorities(a, b int) int {
	if q.rules.HighFirst {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// jobsAt returns the other jobs of one pool and priority, in order.
func (q *Queue) jobsAt(pool string, priority int, without *Job) []*Job {
	var out []*Job
	for _, j := range q.jobs {
		if j != without && !j.Empty() && j.Pool() == pool && j.Priority() == priority {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Position(), b.Position()), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// API returns the job as an API message.
func (l Line) API() *apiv1.Job {
	head := l.Entries[0]
	priority, weight := int32(head.Priority), head.Parent.Weight() //nolint:gosec // 1 to 99
	out := &apiv1.Job{
		JobId: string(head.Job), EntityId: cmp.Or(head.Entity, string(head.Task)), Type: head.JobType, Name: cmp.Or(head.JobName, head.Name),
		Username: head.Username, UserId: head.UserID,
		ResourcePool: head.Pool, Priority: &priority, Weight: &weight, SubmissionTime: timestamppb.New(head.Submitted),
		Summary: &apiv1.JobSummary{State: l.State(), JobsAhead: int32(l.Ahead)}, //nolint:gosec // jobs of one pool
	}
	for _, e := range l.Entries {
		out.IsPreemptible = out.IsPreemptible || e.Preemptible
		out.RequestedSlots += int32(e.Slots) //nolint:gosec // slots of one pool
		if e.Stage == Running {
			out.AllocatedSlots += int32(e.Slots) //nolint:gosec // slots of one pool
		}
	}
	return out
}

// State returns the state of the job in the API.
func (l Line) State() apiv1.Job_State {
	switch {
	case l.Backfilled:
		return apiv1.Job_STATE_SCHEDULED_BACKFILLED
	case l.Running:
		return apiv1.Job_STATE_SCHEDULED
	}
	return apiv1.Job_STATE_QUEUED
}
