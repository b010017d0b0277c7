package queue

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Line is one job of a pool's queue.
type Line struct {
	// Entries are the job's allocations in the pool, in order of submission.
	Entries []*Entry
	// Running says that any of them does; Backfilled that it does although one ahead
	// of it waits.
	Running    bool
	Backfilled bool
	// Ahead counts the jobs of the pool that are served before this one.
	Ahead int
}

// List returns the jobs of a pool in the order in which they are served. A job stands
// where its first allocation stands.
func (q *Queue) List(pool string) []Line {
	q.listings++
	all := q.inOrder(pool)
	out := make([]Line, 0, len(all))
	waiting := false
	for i, e := range all {
		j := e.Parent
		if j.listed != q.listings {
			j.listed, j.line = q.listings, len(out)
			out = append(out, Line{Ahead: j.line, Entries: all[i : i : i+1]}) // most jobs have one, which needs no room of its own
		}
		l := &out[j.line]
		l.Entries = append(l.Entries, e)
		if e.Stage != Running {
			waiting = true
			continue
		}
		l.Running = true
		l.Backfilled = l.Backfilled || waiting
	}
	return out
}

// inOrder lists the allocations of a pool as they are served.
func (q *Queue) inOrder(pool string) []*Entry {
	q.lineUp()
	out := make([]*Entry, 0, len(q.lined))
	for _, e := range q.lined {
		if e.Pool == pool {
			out = append(out, e)
		}
	}
	return out
}

// lineUp sorts what has changed since the last list.
func (q *Queue) lineUp() {
	if q.stray || len(q.lined) != len(q.entries) {
		q.dropStray()
	}
	if !slices.IsSortedFunc(q.lined, q.compareEntries) {
		slices.SortFunc(q.lined, q.compareEntries)
	}
}

// dropStray takes those out of the line that are no longer in the queue.
func (q *Queue) dropStray() {
	q.lined = slices.DeleteFunc(q.lined, func(e *Entry) bool { return q.entries[e.Allocation] != e })
	q.stray = false
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

// jobsAt lists the jobs of one pool and priority in order, without one of them.
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

// API is the job as clients see it.
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

// State is what clients see of whether the job runs.
func (l Line) State() apiv1.Job_State {
	switch {
	case l.Backfilled:
		return apiv1.Job_STATE_SCHEDULED_BACKFILLED
	case l.Running:
		return apiv1.Job_STATE_SCHEDULED
	}
	return apiv1.Job_STATE_QUEUED
}
