package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Changed is what follows from a change.
type Changed struct {
	// Jobs are those whose settings must be stored.
	Jobs []*Job
	// Moved are allocations that wait, in another pool now.
	Moved []*Entry
	// Preempt are allocations that have to be preempted, so that their owner submits
	// them again and they go to the job's new pool.
	Preempt []*Entry
}

// Change alters a job. The error is ErrUnknownJob, or says which change is refused, and
// then nothing is altered.
func (q *Queue) Change(id rm.JobID, c rm.Change, now time.Time) (Changed, error) {
	j, found := q.jobs[id]
	// What was changed for a job holds for its later allocations, and so must this.
	if !found || j.Empty() && !j.Settings.Changed() {
		return Changed{}, rm.ErrUnknownJob
	}
	if c.Weight != nil && *c.Weight == j.Weight() {
		c.Weight = nil // said again, by a master that restarts, also where no weight may be set
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

// Changes counts the changes of jobs.
func (q *Queue) Changes() uint64 { return q.changes }

// checkChange says what is wrong with a change.
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
		return fmt.Errorf("move beside job %s: %w", id, rm.ErrUnknownJob)
	case other == j:
		return fmt.Errorf("move beside job %s: it is the same job", id)
	case other.Pool() != j.Pool():
		return fmt.Errorf("move beside job %s: it is in another resource pool (%q)", id, other.Pool())
	}
	return nil
}

// checkMove refuses to move what cannot be started again elsewhere.
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

// setPool moves what waits, and lists what has to be preempted.
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

// moveBeside puts a job beside another, under that one's priority. It returns the jobs
// whose settings have changed: all of the priority, where there was no room between two.
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
