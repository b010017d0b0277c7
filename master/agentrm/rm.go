// Package agentrm runs tasks on agents: machines that connect to the master and
// wait to be told what to run. It keeps who is connected, what runs where and
// who waits, asks master/pool what should happen, and sees to it that it does,
// through broken links, lost machines and its own restarts.
//
// State is owned by one mutex. Whatever waits for a disk, a link or the owner of
// the tasks does so outside it, in order within an allocation and side by side
// across allocations.
package agentrm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

var _ rm.Remarks = (*RM)(nil)

// RM is the resource manager for agents. Make one with New, start it with Run,
// and serve it at /agents, where agents connect.
type RM struct {
	cfg     Config
	records records
	lanes   *lanes
	wake    chan struct{}
	links   sync.WaitGroup
	// unwelcomed are the connections that have not been admitted.
	unwelcomed *unwelcomed

	// mu guards everything below.
	mu          sync.Mutex
	running     bool
	passed      chan struct{} // closed at the end of the pass that is to come
	agents      map[rm.AgentID]*agent
	switches    map[rm.AgentID]agentDoc
	retired     map[rm.AgentID]bool // whether or not they are connected
	allocations map[rm.AllocationID]*allocation
	containers  map[rm.ContainerID]*container
	// queue has the jobs of all allocations.
	queue *queue.Queue
	// arriving are agents that are being let in.
	arriving map[rm.AgentID]bool
	// preparing are the links of machines that set themselves up.
	preparing map[*link]bool
}

var (
	_ rm.ResourceManager = (*RM)(nil)
	_ rm.Machines        = (*RM)(nil)
	_ http.Handler       = (*RM)(nil)
)

// New returns a resource manager that knows nothing yet; Restore reads what an
// earlier one has stored. The error says what is wrong with c.
func New(c Config) (*RM, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &RM{
		cfg: c, records: records{c.Store}, lanes: newLanes(), wake: make(chan struct{}, 1), passed: make(chan struct{}),
		unwelcomed:  newUnwelcomed(c.Limits),
		agents:      make(map[rm.AgentID]*agent),
		switches:    make(map[rm.AgentID]agentDoc),
		retired:     make(map[rm.AgentID]bool),
		allocations: make(map[rm.AllocationID]*allocation),
		containers:  make(map[rm.ContainerID]*container),
		arriving:    make(map[rm.AgentID]bool),
		preparing:   make(map[*link]bool),
	}
	r.queue = r.newQueue()
	return r, nil
}

// Run places tasks until ctx ends. It returns when every link is closed and
// nothing is under way any more; containers go on, and a later Run finds them.
// Restore must have been called, and the owner of the tasks must be ready to
// be told of changes.
func (r *RM) Run(ctx context.Context) error {
	if err := r.begin(); err != nil {
		return err
	}
	defer r.links.Wait()
	defer r.hangUp()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.loop(ctx) })
	for range laneWorkers {
		g.Go(func() error { r.lanes.work(ctx); return nil })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run agent pools: %w", err)
	}
	return nil
}

// begin opens the door for agents and takes up what was left unfinished.
func (r *RM) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		return errors.New("run agent pools: they are running already")
	}
	r.running = true
	now := time.Now()
	for _, a := range r.agents {
		a.since = now // agents are given the whole wait, however long the restart took
	}
	for _, a := range r.allocations {
		if a.phase == Placed {
			r.takeUp(a)
		}
	}
	return nil
}

// takeUp continues an allocation that an earlier master has placed.
func (r *RM) takeUp(a *allocation) {
	if a.ended() {
		r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.settle(ctx, a) })
		return
	}
	r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.launch(ctx, a) })
	if a.release != nil && !a.release.Kill {
		r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.tellOfPreemption(ctx, a) })
	}
}

func (r *RM) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	for l := range r.preparing {
		l.drop("the master stops")
	}
	for _, a := range r.agents {
		if a.link != nil {
			a.link.drop("the master stops")
		}
	}
}

// stir makes the loop look again.
func (r *RM) stir() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
