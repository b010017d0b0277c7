// Package pods runs tasks as pods of a Kubernetes cluster. An allocation becomes
// one Indexed Job, whose pods the scheduler sees only when all of them exist and
// fit, and which is taken back when nodes do not take all of them in time: a gang
// runs whole or not at all.
//
// What runs is what Kubernetes says there is; what waits, its owner submits again
// after a restart. One goroutine decides (k8s/gang), on what the watches have told;
// workers beside it do for each allocation what its phase asks for, over and over
// until there is nothing to do, so that any of it may be interrupted anywhere.
package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/rm"
)

// RM is the resource manager for pods. Make one with New and start it with Run.
type RM struct {
	cfg     Config
	records records
	meters  *meters
	wake    chan struct{}
	// work holds the allocations that somebody should look at.
	work workqueue.TypedDelayingInterface[rm.AllocationID]
	// followers are the logs that are being read.
	followers sync.WaitGroup
	// places are where the pods of each pool may be, those without slots and those
	// with some.
	places map[string][]place

	// answered is when the API server last answered Ready, in nanoseconds since 1970.
	answered atomic.Int64

	// mu guards everything below.
	mu          sync.Mutex
	running     bool
	passed      chan struct{} // closed at the end of the pass that is to come
	watch       *watch        // nil until all is known that there is
	unknown     string        // why it is not
	past        past
	switches    map[rm.AgentID]rm.Switch
	allocations map[rm.AllocationID]*allocation
	jobs        map[rm.JobID]*job
	gone        graves
	// lessons are what the scheduler's refusals say of nodes.
	lessons []gang.Lesson
}

var (
	_ rm.ResourceManager = (*RM)(nil)
	_ rm.Machines        = (*RM)(nil)
)

// New returns a resource manager that knows nothing yet; Restore reads what an
// earlier one has stored. The error says what is wrong with c.
func New(c Config) (*RM, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	places, err := c.places()
	if err != nil {
		return nil, err
	}
	return &RM{
		places: places,
		cfg:    c, records: records{c.Memory}, meters: newMeters(), wake: make(chan struct{}, 1), passed: make(chan struct{}),
		work:        workqueue.NewTypedDelayingQueue[rm.AllocationID](),
		switches:    make(map[rm.AgentID]rm.Switch),
		allocations: make(map[rm.AllocationID]*allocation),
		jobs:        make(map[rm.JobID]*job),
	}, nil
}

// Restore reads what was switched and changed before, and asks Kubernetes for
// nothing: what runs there is looked at when Run begins.
func (r *RM) Restore(ctx context.Context) error {
	p, err := r.records.all(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = p
	for id, doc := range p.nodes {
		r.switches[id] = doc.State
	}
	for id, doc := range p.jobs {
		if time.Since(doc.At) < jobMemory {
			r.jobs[id] = &job{jobDoc: doc, id: id, allocations: make(map[rm.AllocationID]*allocation)}
		}
	}
	return nil
}

// workers is how many allocations are looked at side by side. Most of their time is
// spent waiting for the API server.
const workers = 32

// Run places tasks until ctx ends. It returns when nothing is under way any more;
// pods go on, and a later Run finds them. Restore must have been called, and the
// owner of the tasks must have submitted what it has: what is found in Kubernetes
// and belongs to none of it is removed.
func (r *RM) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	w, err := r.begin(ctx)
	if w != nil {
		defer w.stop()
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was asked to stop
		}
		return err
	}
	defer r.followers.Wait()
	g.Go(func() error { <-ctx.Done(); r.work.ShutDown(); return nil })
	g.Go(func() error { return r.loop(ctx) })
	g.Go(func() error { r.sweep(ctx); return nil })
	g.Go(func() error { r.keepSight(ctx, w); return nil })
	for range workers {
		g.Go(func() error { r.serve(ctx); return nil })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run pods: %w", err)
	}
	return nil
}

// begin waits for the cluster and takes up what an earlier master has left.
func (r *RM) begin(ctx context.Context) (*watch, error) {
	r.mu.Lock()
	if r.running {
		r.mu.Unlock()
		return nil, errors.New("run pods: they are running already")
	}
	r.running = true
	r.mu.Unlock()
	w, err := r.see(ctx)
	if err != nil {
		return w, fmt.Errorf("run pods: %w", err)
	}
	r.mu.Lock()
	r.watch = w
	r.mu.Unlock()
	r.adopt()
	return w, nil
}

// see opens the watches, for as long as it takes the API server to answer.
func (r *RM) see(ctx context.Context) (*watch, error) {
	var w *watch
	err := r.untilAnswered(ctx, func() (err error) { w, err = r.newWatch(ctx); return err })
	if err != nil {
		return nil, err
	}
	if err := w.start(ctx, r.news, r.unseen); err != nil {
		return w, err
	}
	err = r.untilAnswered(ctx, func() error { _, err := r.openSight(ctx, w); return err })
	if err == nil {
		r.saySight(w)
	}
	return w, err
}

// untilAnswered repeats what the API server does not answer, until ctx ends.
func (r *RM) untilAnswered(ctx context.Context, do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.cfg.Log.Warn("the API server does not answer; trying again", "err", err)
		r.blind(err)
		if err := delay.For(ctx, pause); err != nil {
			return err
		}
	}
}

// news is told of every object that has changed.
func (r *RM) news(o any) {
	if gone, is := o.(cache.DeletedFinalStateUnknown); is {
		o = gone.Obj
	}
	switch o := o.(type) {
	case *corev1.Pod:
		r.look(rm.AllocationID(o.Labels[AllocationLabel]))
	case *batchv1.Job:
		r.look(rm.AllocationID(o.Labels[AllocationLabel]))
	case *corev1.Event:
		r.mu.Lock()
		w := r.watch
		r.mu.Unlock()
		if w == nil {
			return
		}
		r.look(w.subject(o))
	}
	r.stir()
}

// look has a worker look at an allocation.
func (r *RM) look(id rm.AllocationID) {
	if id != "" {
		r.work.Add(id)
	}
}

// stir makes the loop look again.
func (r *RM) stir() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// serve looks at allocations until there is no more work.
func (r *RM) serve(ctx context.Context) {
	for {
		id, over := r.work.Get()
		if over {
			return
		}
		if again := r.step(ctx, id); again > 0 && ctx.Err() == nil {
			r.work.AddAfter(id, again)
		}
		r.work.Done(id)
	}
}
