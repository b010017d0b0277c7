package pods

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// newQueue returns a queue that orders jobs like Determined 0.38.1 on Kubernetes: the higher
// priority is first, unlike in resource pools of agents.
func newQueue(c Config) *queue.Queue {
	rules := queue.Rules{
		DefaultAux: c.DefaultAux, DefaultCompute: c.DefaultCompute, HighFirst: true,
		CheckWeight: func(weight float64) error {
			return fmt.Errorf("weight: has no meaning on Kubernetes (%v); change the priority, of which the higher one goes first", weight)
		},
		Fits: func(pool string, q rm.Request) error {
			p, _ := c.findPool(pool)
			_, _, err := p.splitRequest(q)
			return err
		},
	}
	for _, p := range c.Pools {
		rules.Pools = append(rules.Pools, queue.Pool{Name: p.Name, DefaultPriority: gang.DefaultPriority})
	}
	return queue.New(rules)
}

// Change implements rm.ResourceManager. A change also applies to the job's later allocations, and
// survives a restart of the master.
func (r *RM) Change(ctx context.Context, id rm.JobID, c rm.Change) error {
	docs, err := r.state.changeJob(id, c, time.Now())
	if err != nil {
		return fmt.Errorf("change job %s: %w", id, err)
	}
	defer r.state.passes.Wake()
	for id, doc := range docs {
		if err := r.records.Put(ctx, records.JobKey+string(id), doc); err != nil {
			return fmt.Errorf("change job %s: it is changed until the master restarts: %w", id, err)
		}
	}
	return nil
}

// changeJob returns the changed jobs, to be stored. Waiting allocations are moved to another
// resource pool; running ones are preempted, and their owner submits them again.
func (s *state) changeJob(id rm.JobID, c rm.Change, now time.Time) (map[rm.JobID]records.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.queue.Change(id, c, now)
	if err != nil {
		return nil, err
	}
	for _, e := range changed.Moved {
		if err := s.cfg.shapeAllocation(s.allocations[e.Allocation]); err != nil {
			return nil, err
		}
	}
	for _, e := range changed.Preempt {
		s.preemptAllocation(s.allocations[e.Allocation], fmt.Sprintf("the job was moved to resource pool %q", *c.Pool), now)
	}
	docs := make(map[rm.JobID]records.Job, len(changed.Jobs))
	for _, j := range changed.Jobs {
		docs[j.ID] = jobDocument(j.Settings, now)
	}
	return docs, nil
}

// jobDocument returns the document to store for a change.
func jobDocument(s queue.Settings, now time.Time) records.Job {
	out := records.Job{Priority: s.Priority, MaxSlots: s.MaxSlots, Pool: s.Pool, At: now}
	if s.MovedTo != 0 {
		out.Position = time.Unix(0, int64(s.MovedTo))
	}
	return out
}

func settingsOf(doc records.Job) queue.Settings {
	out := queue.Settings{Priority: doc.Priority, MaxSlots: doc.MaxSlots, Pool: doc.Pool}
	if !doc.Position.IsZero() {
		out.MovedTo = queue.PositionAt(doc.Position)
	}
	return out
}
