package agentrm

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// newQueue keeps the jobs of the configured pools.
func (r *RM) newQueue() *queue.Queue {
	rules := queue.Rules{
		DefaultAux: r.cfg.DefaultAux, DefaultCompute: r.cfg.DefaultCompute,
		CheckWeight: checkWeight, Fits: r.fits,
	}
	for _, p := range r.cfg.Pools {
		rules.Pools = append(rules.Pools, queue.Pool{Name: p.Name, DefaultPriority: p.Scheduler.DefaultPriority})
	}
	return queue.New(rules)
}

func checkWeight(w float64) error {
	if !(w > 0) {
		return fmt.Errorf("weight: must be positive (%v)", w)
	}
	return nil
}

// Change implements rm.ResourceManager. What is changed holds for the job's
// later allocations too, and outlives the master's restart.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.changeJob(id, c, time.Now())
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

// changeJob returns the jobs to be stored.
func (r *RM) changeJob(id rm.JobID, c rm.Change, now time.Time) (map[rm.JobID]jobDoc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, err := r.queue.Change(id, c, now)
	if err != nil {
		return nil, err
	}
	for _, e := range changed.Preempt {
		r.preempt(r.allocations[e.Allocation], fmt.Sprintf("the job was moved to resource pool %q", *c.Pool), now)
	}
	docs := make(map[rm.JobID]jobDoc, len(changed.Jobs))
	for _, j := range changed.Jobs {
		docs[j.ID] = jobDoc(j.Settings)
	}
	return docs, nil
}

// positionOf is an allocation's place as the scheduler knows it.
func positionOf(e *queue.Entry) pool.Position { return pool.Position(e.Parent.Position()) }
