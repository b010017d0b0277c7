package pods

import (
	"github.com/det-deploy/det-deploy/k8s/pods/records"

	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// queue is the jobs of all pools, in the order in which they are served.
type queue struct {
	cfg   Config
	state *state
}

// Change implements rm.ResourceManager. What is changed holds for the job's later
// allocations too, and outlives the master's restart.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.queue.change(id, c)
	if err != nil {
		return fmt.Errorf("change job %s: %w", id, err)
	}
	defer r.state.wakeScheduler()
	for id, doc := range docs {
		if err := r.records.Put(ctx, records.JobKey+string(id), doc); err != nil {
			return fmt.Errorf("change job %s: it is changed until the master restarts: %w", id, err)
		}
	}
	return nil
}

// change judges first and acts then. It returns the jobs to be stored.
func (q *queue) change(id rm.JobID, c rm.Change) (map[rm.JobID]records.Job, error) {
	q.state.mu.Lock()
	defer q.state.mu.Unlock()
	j := q.state.jobs[id]
	if j == nil || len(j.allocations) == 0 {
		return nil, rm.ErrUnknownJob
	}
	if err := q.judgeChange(j, c); err != nil {
		return nil, err
	}
	if c.Priority != nil {
		j.setPriority(*c.Priority)
	}
	if c.MaxSlots != nil {
		j.MaxSlots = c.MaxSlots
	}
	if c.Pool != nil {
		if err := q.movePool(j, *c.Pool); err != nil {
			return nil, err
		}
	}
	moved := append(q.movePlace(j, c), j)
	docs := make(map[rm.JobID]records.Job, len(moved))
	for _, m := range moved {
		m.At = time.Now()
		docs[m.id] = m.Job
	}
	return docs, nil
}

// judgeChange says what is wrong with a change.
func (q *queue) judgeChange(j *job, c rm.Change) error {
	if c.Priority != nil {
		if err := checkPriority(*c.Priority); err != nil {
			return err
		}
	}
	if c.Weight != nil {
		return fmt.Errorf("weight: has no meaning on Kubernetes (%v); change the priority, of which the higher one goes first", *c.Weight)
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
		if err := q.judgeNeighbour(j, *other); err != nil {
			return err
		}
	}
	if c.Pool != nil {
		return q.judgePool(j, *c.Pool)
	}
	return nil
}

func (q *queue) judgeNeighbour(j *job, id rm.JobID) error {
	other := q.state.jobs[id]
	switch {
	case other == nil || len(other.allocations) == 0:
		return fmt.Errorf("move beside job %s: %w", id, rm.ErrUnknownJob)
	case other == j:
		return fmt.Errorf("move beside job %s: it is the same job", id)
	case other.pool() != j.pool():
		return fmt.Errorf("move beside job %s: it is in another resource pool (%q)", id, other.pool())
	}
	return nil
}

// judgePool refuses to move what cannot be taken up elsewhere.
func (q *queue) judgePool(j *job, name string) error {
	p, found := q.cfg.pool(name)
	if !found {
		return fmt.Errorf("%w: %q; there are %q", rm.ErrUnknownPool, name, q.cfg.poolNames())
	}
	for _, a := range j.allocations {
		if a.pool == name {
			continue
		}
		if a.phase != Queued && !a.Preemptible {
			return fmt.Errorf("move to resource pool %q: allocation %s has pods and cannot be preempted; kill the job and submit it again", name, a.Allocation)
		}
		if _, _, err := p.split(a.Request); err != nil {
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

func (j *job) priority() int {
	for _, a := range j.allocations {
		return a.priority
	}
	return j.Priority
}

func (j *job) setPriority(p int) {
	j.Priority = p
	for _, a := range j.allocations {
		a.priority = p
	}
}

// movePool moves what waits. What has pods is preempted; its owner submits it again,
// and then it goes to the new pool.
func (q *queue) movePool(j *job, name string) error {
	j.Pool = name
	for _, a := range j.allocations {
		if a.pool == name {
			continue
		}
		if a.phase != Queued {
			q.state.preempt(a, fmt.Sprintf("the job was moved to resource pool %q", name), time.Now())
			continue
		}
		a.Pool, a.pool = name, name
		if err := q.cfg.shape(a); err != nil {
			return err
		}
	}
	return nil
}

// movePlace puts a job beside another, under that one's priority. It returns the
// other jobs whose position had to change to make room.
func (q *queue) movePlace(j *job, c rm.Change) []*job {
	anchor, ahead := c.BehindOf, false
	if c.AheadOf != nil {
		anchor, ahead = c.AheadOf, true
	}
	if anchor == nil {
		return nil
	}
	other := q.state.jobs[*anchor]
	j.setPriority(other.priority())
	queue := q.level(other.pool(), other.priority(), j)
	at := slices.Index(queue, other)
	if !ahead {
		at++
	}
	queue = slices.Insert(queue, at, j)
	// All of one level are numbered anew: a queue is short, and this is rare.
	base := time.Now().Add(-time.Duration(len(queue)) * time.Second)
	for i, one := range queue {
		one.Position = base.Add(time.Duration(i) * time.Second)
	}
	return queue
}

// level lists the jobs of one pool and priority in order, without j.
func (q *queue) level(name string, priority int, without *job) []*job {
	var out []*job
	for _, j := range q.state.jobs {
		if j != without && len(j.allocations) > 0 && j.pool() == name && j.priority() == priority {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		return cmp.Or(a.position().Compare(b.position()), cmp.Compare(a.id, b.id))
	})
	return out
}

// position is where a job stands among those of its priority.
func (j *job) position() time.Time {
	if !j.Position.IsZero() {
		return j.Position
	}
	var first time.Time
	for _, a := range j.allocations {
		if first.IsZero() || a.Submitted.Before(first) {
			first = a.Submitted
		}
	}
	return first
}
