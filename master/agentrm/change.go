package agentrm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Change implements rm.ResourceManager. What is changed holds for the job's
// later allocations too, and outlives the master's restart.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.change(id, c)
	if err != nil {
		return fmt.Errorf("change job %s: %w", id, err)
	}
	defer r.stir()
	for id, doc := range docs {
		if err := r.records.putJob(ctx, id, doc); err != nil {
			return fmt.Errorf("change job %s: it is changed until the master restarts: %w", id, err)
		}
	}
	return nil
}

// change judges first and acts then. It returns the jobs to be stored.
func (r *RM) change(id rm.JobID, c rm.Change) (map[rm.JobID]jobDoc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[id]
	if j == nil {
		return nil, rm.ErrUnknownJob
	}
	if err := r.judge(j, c); err != nil {
		return nil, err
	}
	r.setPriority(j, c)
	if c.Weight != nil {
		j.Weight = c.Weight
	}
	if c.MaxSlots != nil {
		j.MaxSlots = c.MaxSlots
	}
	if c.Pool != nil {
		r.movePool(j, *c.Pool)
	}
	moved := r.movePlace(j, c)
	docs := map[rm.JobID]jobDoc{id: j.jobDoc}
	for _, other := range moved {
		docs[other.id] = other.jobDoc
	}
	return docs, nil
}

// judge says what is wrong with a change.
func (r *RM) judge(j *job, c rm.Change) error {
	if c.Priority != nil {
		if err := checkPriority(*c.Priority); err != nil {
			return fmt.Errorf("priority: %w", err)
		}
	}
	if c.Weight != nil && !(*c.Weight > 0) {
		return fmt.Errorf("weight: must be positive (%v)", *c.Weight)
	}
	if c.MaxSlots != nil && *c.MaxSlots < 0 {
		return fmt.Errorf("max_slots: must not be negative (%d)", *c.MaxSlots)
	}
	if c.AheadOf != nil && c.BehindOf != nil {
		return fmt.Errorf("ahead_of and behind_of exclude each other")
	}
	for _, other := range []*rm.JobID{c.AheadOf, c.BehindOf} {
		if other == nil {
			continue
		}
		if err := r.judgeNeighbour(j, *other); err != nil {
			return err
		}
	}
	if c.Pool != nil {
		return r.judgePool(j, *c.Pool)
	}
	return nil
}

func (r *RM) judgeNeighbour(j *job, id rm.JobID) error {
	other := r.jobs[id]
	switch {
	case other == nil:
		return fmt.Errorf("move beside job %s: %w", id, rm.ErrUnknownJob)
	case other == j:
		return fmt.Errorf("move beside job %s: it is the same job", id)
	case other.pool() != j.pool():
		return fmt.Errorf("move beside job %s: it is in another resource pool (%q)", id, other.pool())
	}
	return nil
}

// judgePool refuses to move what cannot be taken up elsewhere.
func (r *RM) judgePool(j *job, name string) error {
	p, found := r.cfg.pool(name)
	if !found {
		return fmt.Errorf("%w: %q; there are %q", rm.ErrUnknownPool, excerpt.Of(name), r.cfg.poolNames())
	}
	for _, a := range j.allocations {
		if a.pool == name {
			continue
		}
		if a.phase == Placed && !a.Preemptible {
			return fmt.Errorf("move to resource pool %q: allocation %s is running and cannot be preempted; kill the job and submit it again", name, a.Allocation)
		}
		if err := r.fits(p, a.Request); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) pool() string {
	for _, a := range j.allocations {
		return a.pool
	}
	return j.Pool
}

func (r *RM) setPriority(j *job, c rm.Change) {
	if c.Priority == nil {
		return
	}
	j.Priority = *c.Priority
	for _, a := range j.allocations {
		a.priority = j.Priority
	}
}

// movePool moves what waits. What runs is preempted; its owner submits it again,
// and then it goes to the new pool.
func (r *RM) movePool(j *job, name string) {
	j.Pool = name
	for _, a := range j.allocations {
		switch {
		case a.pool == name:
		case a.phase == Queued:
			a.pool = name
		case a.phase == Placed:
			r.preempt(a, fmt.Sprintf("the job was moved to resource pool %q", name), time.Now())
		}
	}
}

// movePlace puts a job beside another, under that one's priority. It returns the
// other jobs whose position had to change to make room.
func (r *RM) movePlace(j *job, c rm.Change) []*job {
	anchor, ahead := c.BehindOf, false
	if c.AheadOf != nil {
		anchor, ahead = c.AheadOf, true
	}
	if anchor == nil {
		return nil
	}
	other := r.jobs[*anchor]
	priority := other.priority()
	r.setPriority(j, rm.Change{Priority: &priority})
	queue := r.level(other.pool(), priority, j)
	at := slices.Index(queue, other)
	if !ahead {
		at++
	}
	position, ok := between(queue, at)
	if ok {
		j.move(position)
		return nil
	}
	queue = slices.Insert(queue, at, j)
	for i, position := range pool.Respace(len(queue), pool.PositionAt(time.Now())) {
		queue[i].move(position)
	}
	return queue
}

func (j *job) move(p pool.Position) { j.position, j.Position = p, p }

func (j *job) priority() int {
	for _, a := range j.allocations {
		return a.priority
	}
	return j.Priority
}

// level lists the jobs of one pool and priority in order, without j.
func (r *RM) level(name string, priority int, without *job) []*job {
	var out []*job
	for _, j := range r.jobs {
		if j != without && j.pool() == name && j.priority() == priority {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.id, b.id))
	})
	return out
}

// between finds a position before queue[at].
func between(queue []*job, at int) (pool.Position, bool) {
	switch at {
	case 0:
		return queue[0].position - pool.Position(time.Second), true
	case len(queue):
		return queue[at-1].position + pool.Position(time.Second), true
	}
	return pool.Between(queue[at-1].position, queue[at].position)
}
