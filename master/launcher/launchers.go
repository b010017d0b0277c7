// Package launcher manages the machines of resource pools that have a provider: it launches them when
// tasks wait and removes them when they are idle. It records each request across restarts, so that no
// machine is launched twice or forgotten.
//
// Decisions are made by master/elastic. One goroutine per pool owns the state, observes, decides,
// records and acts; platform calls run concurrently and report back, so that neither the scheduler nor
// the loop ever waits for a cloud.
//
//	agentrm ──Decided──▶ wake ─┐                      ┌─▶ Launch, Terminate, List
//	calls ────answers──────────┼─▶ decide ▶ record ───┤
//	clock ─────────────────────┘                      └─▶ Retire, Remove, Explain ──▶ agentrm
package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Config configures launchers.
type Config struct {
	Store *store.Store
	Pools []Pool
	// Log may be nil.
	Log *slog.Logger
	// Batch is the time that a launch waits for more tasks; zero selects DefaultBatch.
	Batch time.Duration
}

// DefaultBatch gathers the tasks of one submission into one call. It leaves most of the quarter of a
// second in which the call for a waiting task's machine has to be made.
const DefaultBatch = 50 * time.Millisecond

// Pool is one pool whose machines are launched.
type Pool struct {
	Name string
	// Instances is the platform. It may also implement cloud.Console and cloud.Sweeper.
	Instances cloud.Instances
	Offers    []cloud.Offer
	Limits    elastic.Limits
	// LaunchWait is the timeout of a launch, if that is longer than for other calls.
	LaunchWait time.Duration
	// Shape is the capacity of one machine.
	Shape elastic.Shape
	// KeepWaiting makes tasks wait that would otherwise fail because of a launch error.
	KeepWaiting bool
	// Describe adds the configuration of the machines to a pool; it may be nil.
	Describe func(*apiv1.ResourcePool)
}

// Agents is the part of the agents' resource manager that launchers use. Its methods must not block.
type Agents interface {
	// Retire keeps an agent from getting new work, and returns the number of its containers.
	Retire(id rm.AgentID) (containers int)
	// Unretire reverts Retire.
	Unretire(id rm.AgentID)
	// Remove removes an agent whose machine is permanently gone.
	Remove(id rm.AgentID, reason string)
	// Explain reports to allocations why they do not get machines; Refuse fails an allocation.
	Explain(ids []rm.AllocationID, w rm.Wait)
	Refuse(id rm.AllocationID, reason string)
}

// Launchers are the launchers of all pools.
type Launchers struct {
	cfg   Config
	pools map[string]*Launcher
}

// New returns launchers without state; Restore reads the records of earlier ones. New returns an error
// if a pool lacks the store, its platform or its offers.
func New(cfg Config) (*Launchers, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Batch == 0 {
		cfg.Batch = DefaultBatch
	}
	l := &Launchers{cfg: cfg, pools: make(map[string]*Launcher, len(cfg.Pools))}
	for _, p := range cfg.Pools {
		if p.Instances == nil || len(p.Offers) == 0 || cfg.Store == nil {
			return nil, fmt.Errorf("cannot launch machines for resource pool %q: store, platform and offers are required", p.Name)
		}
		l.pools[p.Name] = newLauncher(cfg, p)
	}
	return l, nil
}

// Restore reads the ledger. It is called once, before Run.
func (l *Launchers) Restore(ctx context.Context) error {
	for _, p := range l.pools {
		if err := p.restoreRecords(ctx); err != nil {
			return fmt.Errorf("restore machines of resource pool %q: %w", p.pool.Name, err)
		}
	}
	return l.warnLeft(ctx)
}

// warnLeft logs the machines without a launcher.
func (l *Launchers) warnLeft(ctx context.Context) error {
	all, err := l.listLeft(ctx)
	if err != nil {
		return fmt.Errorf("restore machines: %w", err)
	}
	left := make(map[string][]cloud.InstanceID)
	for _, d := range all {
		left[d.Parent] = append(left[d.Parent], d.Value.ID)
	}
	for pool, ids := range left {
		l.cfg.Log.Warn("machines were launched for a resource pool that no longer launches any; "+
			"they are not admitted and shut themselves down, but the master does not verify that they are gone; "+
			"restore the provider configuration until they are gone, or terminate them yourself", "pool", pool, "instance_ids", ids)
	}
	return nil
}

// Attach sets the resource manager of the agents. It is called once, before Run.
func (l *Launchers) Attach(a Agents) {
	for _, p := range l.pools {
		p.agents = a
	}
}

// Run manages the machines of all pools until ctx is done. The machines continue to run; a later Run
// finds them.
func (l *Launchers) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range l.pools {
		g.Go(func() error { return p.runTurns(ctx) })
	}
	g.Go(func() error { l.pruneHistory(ctx); return nil })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("manage machines: %w", err)
	}
	return nil
}

// Room implements agentrm.Config: it returns the machines that may still be launched for a pool.
func (l *Launchers) Room(name string) []pool.Shape {
	p := l.pools[name]
	if p == nil {
		return nil
	}
	return p.listRoom()
}

// Machine implements agentrm.Config: it returns the number of slots of each machine of a pool. It
// reports false for a pool that may have no machines.
func (l *Launchers) Machine(name string) (slots int, found bool) {
	p := l.pools[name]
	if p == nil || p.pool.Limits.Max == 0 {
		return 0, false
	}
	return p.pool.Shape.Slots, true
}

// Decided implements agentrm.Config: it wakes the pool's launcher.
func (l *Launchers) Decided(name string, p pool.Pool, d pool.Decision) {
	if of := l.pools[name]; of != nil {
		of.receiveView(p, d)
	}
}

// Waits implements agentrm.Config: it returns the reason why an allocation does not get its machines.
func (l *Launchers) Waits(name string, id rm.AllocationID) string {
	if p := l.pools[name]; p != nil {
		return p.explainWait(id)
	}
	return ""
}

// Describe implements agentrm.Config: it adds the state of a pool's machines.
func (l *Launchers) Describe(out *apiv1.ResourcePool) {
	if p := l.pools[out.GetName()]; p != nil {
		p.describePool(out)
	}
}

// Launched returns the pool that a machine was launched for, and reports whether the machine is to
// remain.
func (l *Launchers) Launched(id cloud.InstanceID) (pool string, ok bool) {
	for name, p := range l.pools {
		if m, found := p.findMachine(id); found {
			return name, m.State != elastic.Terminating
		}
	}
	return "", false
}

// Joined reports that a machine's agent was admitted. The next view shows it.
func (l *Launchers) Joined(id cloud.InstanceID) {
	for _, p := range l.pools {
		if _, found := p.findMachine(id); found {
			p.wakeUp()
		}
	}
}

// Leaving reports that a machine will or may be interrupted. It is drained, and terminated when it is
// empty.
func (l *Launchers) Leaving(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, _ time.Time) { p.leaving[id] = reason })
}

// Unprepared reports that a machine could not be set up. It is terminated, and further machines of its
// offer are launched after growing delays.
func (l *Launchers) Unprepared(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, now time.Time) { p.endUnprepared(id, reason, now) })
}

// Revoked reports that a machine's agent was revoked. It is terminated, even if tasks run on it.
func (l *Launchers) Revoked(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, now time.Time) { p.endRevoked(id, reason, now) })
}

// postTo schedules a function for the next turn of the launcher that has the machine.
func (l *Launchers) postTo(id cloud.InstanceID, what func(p *Launcher, now time.Time)) {
	for _, p := range l.pools {
		if _, found := p.findMachine(id); !found {
			continue
		}
		p.postAction(func(now time.Time) { what(p, now) })
	}
}

func (l *Launchers) poolNames() []string {
	names := make([]string, 0, len(l.pools))
	for name := range l.pools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
