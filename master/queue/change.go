package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Changed lists the effects of a change, which the caller has to carry out.
type Changed struct {
	// Jobs are the jobs whose settings must be stored.
	Jobs []*Job
	// Moved are the waiting allocations that are in another pool now.
	Moved []*Entry
	// Preempt are the allocations that must be preempted. Their owner submits them again, and they join
	// the queue of the job's new pool.
	Preempt []*Entry
}

// Change alters a job. It returns ErrUnknownJob if there is no such job, or an error that names the
// invalid part of the change. On error nothing is altered.
func (q *Queue) Change(id rm.JobID, c rm.Change, now time.Time) (Changed, error) {
	j, found := q.jobs[id]
	// Settings apply to the job's later allocations as well, so that a job without allocations can be
	// changed if it has settings.
	if !found || j.Empty() && !j.Settings.Changed() {
		return Changed{}, rm.ErrUnknownJob
	}
	if c.Weight != nil && *c.Weight == j.Weight() {
		c.Weight = nil // repeated by a restarted master, even where weights cannot be set
	}
	if err := q.checkChange(j, c); err != nil {
		return Changed{}, err
	}
	q.changes++
	q.reorder()
	if c.Priority != nil {
		j.setPriority(*c.Priority)
	}
	if c.Weight != nil {
		j.Settings.Weight = c.Weight
	}
	if c.MaxSlots != nil {
		j.Settings.MaxSlots = c.MaxSlots
	}
	out := Changed{Jobs: []*Job{j}}
	if c.Pool != nil {
		out.Moved, out.Preempt = j.setPool(*c.Pool)
	}
	if c.AheadOf != nil || c.BehindOf != nil {
		out.Jobs = q.moveBeside(j, c, now)
	}
	return out, nil
}

// Changes returns the number of changes made to jobs so far.
func (q *Queue) Changes() uint64 { return q.changes }

// checkChange returns an error if the change is invalid.
func (q *Queue) checkChange(j *Job, c rm.Change) error {
	if c.Priority != nil {
		if err := CheckPriority(*c.Priority); err != nil {
			return err
		}
	}
	if c.Weight != nil {
		if err := q.rules.CheckWeight(*c.Weight); err != nil {
			return err
		}
	}
	if c.MaxSlots != nil && *c.MaxSlots < 0 {
		return fmt.Errorf("max_slots: must not be negative (%d)", *c.MaxSlots)
	}
	if c.AheadOf != nil && c.BehindOf != nil {
		return errors.New("ahead_of and behind_of exclude each other")
	}
	for _, other := range []*rm.JobID{c.AheadOf, c.BehindOf} {
		if other == nil {
			continue
		}
		if err := q.checkNeighbour(j, *other); err != nil {
			return err
		}
		if err := q.checkPromotion(j, q.jobs[*other], c.MinPriority); err != nil {
			return err
		}
	}
	if c.Pool != nil {
		return q.checkMove(j, *c.Pool)
	}
	return nil
}

func (q *Queue) checkNeighbour(j *Job, id rm.JobID) error {
	other, found := q.jobs[id]
	switch {
	case !found || other.Empty():
		return fmt.Errorf("move next to job %s: %w", id, rm.ErrUnknownJob)
	case other == j:
		return fmt.Errorf("move next to job %s: it is the same job", id)
	case other.Pool() != j.Pool():
		return fmt.Errorf("move next to job %s: it is in another resource pool (%q)", id, other.Pool())
	}
	return nil
}

// checkPromotion returns a *rm.PriorityError if a job would take on a more urgent priority than allowed.
func (q *Queue) checkPromotion(j, other *Job, limit int) error {
	p := other.Priority()
	if limit == 0 || q.comparePriorities(p, limit) >= 0 || q.comparePriorities(p, j.Priority()) >= 0 {
		return nil
	}
	return &rm.PriorityError{Priority: p, Min: limit}
}

// checkMove returns an error if the pool does not exist, if a started allocation cannot be preempted, or
// if the pool could never fit an allocation of the job.
func (q *Queue) checkMove(j *Job, name string) error {
	if _, err := q.poolNamed(name); err != nil {
		return err
	}
	for _, e := range j.sortedEntries() {
		if e.Pool == name {
			continue
		}
		if e.Stage != Waiting && !e.Preemptible {
			return fmt.Errorf("move to resource pool %q: allocation %s is running and cannot be preempted; kill the job and submit it again", name, e.Allocation)
		}
		if err := q.rules.Fits(name, e.Request); err != nil {
			return err
		}
	}
	return nil
}

// setPool moves the waiting allocations to a pool and returns them, and those to preempt.
func (j *Job) setPool(name string) (moved, preempt []*Entry) {
	j.Settings.Pool = name
	for _, e := range j.sortedEntries() {
		switch {
		case e.Pool == name:
		case e.Stage == Waiting:
			e.Pool = name
			moved = append(moved, e)
		default:
			preempt = append(preempt, e)
		}
	}
	return moved, preempt
}

// moveBeside moves a job next to another job, whose priority it takes on. It returns the jobs whose
// settings have changed: all jobs of the priority if there was no free position between the two
// neighbours.
func (q *Queue) moveBeside(j *Job, c rm.Change, now time.Time) []*Job {
	anchor, behind := c.AheadOf, 0
	if anchor == nil {
		anchor, behind = c.BehindOf, 1
	}
	other := q.jobs[*anchor]
	j.setPriority(other.Priority())
	jobs := q.jobsAt(other.Pool(), other.Priority(), j)
	at := slices.Index(jobs, other) + behind
	if position, found := positionBefore(jobs, at); found {
		j.Settings.MovedTo = position
		return []*Job{j}
	}
	jobs = slices.Insert(jobs, at, j)
	for i, position := range spreadPositions(len(jobs), PositionAt(now)) {
		jobs[i].Settings.MovedTo = position
	}
	return jobs
}
