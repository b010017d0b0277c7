// Package pods runs tasks as pods of a Kubernetes cluster. An allocation becomes an Indexed Job,
// whose pods the scheduler ignores until all of them exist and fit. The Job is deleted if nodes do
// not accept all of the pods in time, so that a gang never runs partially.
//
// Kubernetes is the source of truth for running tasks; waiting ones are submitted again by their
// owner after a restart. One goroutine makes decisions (k8s/gang), based on the watches. For each
// allocation, a worker executes the actions of its phase, repeatedly until there is nothing to do,
// so that it may be interrupted anywhere.
package pods

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/k8s/pods/objects"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/pods/watch"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// RM is the resource manager for pods. Use New to create one and Run to start it.
//
//	scheduler ──decides──▶ state ◀──reads and moves── worker ─┬─ starter     Making, Gated, Opening
//	     ▲                   ▲                                ├─ runner      Running
//	     └──── wakes ────────┤                                │   └─ terminator
//	                       watch                              └─ cleaner     Undoing, Over
//
// All of them share state and its lock. reporter reports starts and ends to the owner, and objects
// makes the changes in Kubernetes.
type RM struct {
	cfg     Config
	records records.Store
	state   *state
	running atomic.Bool

	scheduler *scheduler
	worker    *worker
	runner    *runner
	cleaner   *cleaner
	agents    *agents
	api       *apiHealth
	entrance  *entrance
}

var (
	_ rm.ResourceManager = (*RM)(nil)
	_ rm.Machines        = (*RM)(nil)
	_ rm.Claims          = (*RM)(nil)
	_ rm.Streams         = (*RM)(nil)
)

// New returns a resource manager without state; Restore reads the stored one. It returns an error
// if c is invalid.
func New(c Config) (*RM, error) {
	c = c.withDefaults()
	if err := c.validateConfig(); err != nil {
		return nil, err
	}
	placements, err := c.poolPlacements()
	if err != nil {
		return nil, err
	}
	s := newState(c)
	r := &RM{cfg: c, records: records.New(c.Memory), state: s, scheduler: newScheduler(s), api: &apiHealth{client: c.Client, namespace: c.Namespace}}
	api := objects.API{Client: c.Client, Namespace: c.Namespace}
	report := &reporter{cfg: c, state: s}
	end := &terminator{cfg: c, state: s, objects: api, reporter: report}
	r.runner = &runner{cfg: c, state: s, objects: api, records: r.records, reporter: report, terminator: end}
	r.cleaner = &cleaner{cfg: c, state: s, objects: api, records: r.records, reporter: report, terminator: end}
	start := &starter{cfg: c, state: s, objects: api, records: r.records, reporter: report}
	r.worker = &worker{state: s, reporter: report, starter: start, runner: r.runner, cleaner: r.cleaner}
	r.entrance = newEntrance(c, s)
	r.agents = &agents{cfg: c, state: s, records: r.records, placements: placements}
	return r, nil
}

// Restore reads the stored switches and changes. It makes no calls to Kubernetes; Run reads the
// running tasks.
func (r *RM) Restore(ctx context.Context) error {
	p, err := r.records.Load(ctx)
	if err != nil {
		return err
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.saved = p
	for id, doc := range p.Nodes {
		r.state.switches[id] = doc.State
	}
	for id, doc := range p.Jobs {
		if time.Since(doc.At) < records.JobLifetime {
			r.state.queue.Restore(id, settingsOf(doc))
		}
	}
	return nil
}

// Run places tasks until ctx ends, and returns when all operations have stopped. Pods keep running,
// and a later Run finds them. Before Run, Restore must have been called and the owner must have
// submitted its tasks: other objects of the cluster are deleted as orphans.
func (r *RM) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	w, err := r.openWatch(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was asked to stop
		}
		return err
	}
	defer w.Stop()
	defer r.runner.followers.Wait()
	g.Go(func() error { <-ctx.Done(); r.state.work.ShutDown(); return nil })
	g.Go(func() error { return r.state.passes.Run(ctx, r.scheduler.decideQueues) })
	g.Go(func() error { r.cleaner.sweepOrphans(ctx); return nil })
	g.Go(func() error { w.FollowPermissions(ctx); return nil })
	if r.cfg.Claim != nil {
		g.Go(func() error { r.cfg.Claim.Run(ctx); return nil })
	}
	for range workers {
		g.Go(func() error { r.worker.runWorker(ctx); return nil })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run pods: %w", err)
	}
	return nil
}

// openWatch opens the watches and restores the allocations of an earlier master.
func (r *RM) openWatch(ctx context.Context) (*watch.Watch, error) {
	if r.running.Swap(true) {
		return nil, errors.New("run pods: they are running already")
	}
	w, err := watch.Open(ctx, watch.Config{
		Log: r.cfg.Log, Client: r.cfg.Client, Cluster: r.cfg.Cluster, Namespace: r.cfg.Namespace, Former: r.cfg.Former,
		Interval: r.cfg.Limits.Sight, OnChange: r.state.onChange, OnError: r.state.setUnknown, Changes: r.state.capacity,
	})
	if err != nil {
		return nil, fmt.Errorf("run pods: %w", err)
	}
	r.state.mu.Lock()
	r.state.watch = w
	r.state.mu.Unlock()
	r.state.restoreAllocations()
	return w, nil
}

// Validate implements rm.ResourceManager. It does not check whether nodes are large enough, because
// an autoscaler may add them.
func (r *RM) Validate(q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if err := r.state.queue.Validate(q); err != nil {
		return err
	}
	p, err := r.state.queue.PoolOf(q)
	if err != nil {
		return err
	}
	pool, _ := r.cfg.findPool(p.Name)
	return podspec.Validate(q, pool.Template)
}

// CheckClaim implements rm.Claims.
func (r *RM) CheckClaim(name string) error { return r.cfg.Claim.Check(name) }

// Submit implements rm.ResourceManager. Allocation IDs are used once: an allocation that has just
// ended is not run again.
func (r *RM) Submit(_ context.Context, q rm.Request) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.queue.Known(q.Allocation) {
		return nil
	}
	if err := r.state.addAllocation(q); err != nil {
		return fmt.Errorf("submit allocation %s: %w", q.Allocation, err)
	}
	r.state.passes.Wake()
	return nil
}

// Kill implements rm.ResourceManager.
func (r *RM) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a := r.state.allocations[id]; a != nil {
		r.state.killAllocation(a, rm.CauseKilled, reason)
	}
	return nil
}

// Preempt implements rm.ResourceManager. An allocation that is not running yet has nothing to save,
// and ends.
func (r *RM) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if a := r.state.allocations[id]; a != nil {
		r.state.preemptAllocation(a, reason, time.Now())
	}
	return nil
}

// Allocation implements rm.ResourceManager.
func (r *RM) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	a := r.state.allocations[id]
	if a == nil {
		return rm.Allocation{}, false
	}
	out := a.describeAllocation()
	if r.state.watch == nil && r.state.unknown != "" {
		out.Waiting = r.state.unknown
	}
	return out, true
}

// PriorityChanges implements rm.ResourceManager.
func (r *RM) PriorityChanges() uint64 {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.queue.Changes()
}

// Priority implements rm.ResourceManager.
func (r *RM) Priority(id rm.AllocationID) (int, bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	a := r.state.allocations[id]
	if a == nil {
		return 0, false
	}
	return a.Priority, true
}
