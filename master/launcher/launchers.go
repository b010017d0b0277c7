// Package launcher keeps the machines of resource pools that have a provider:
// it launches them when tasks wait, removes them when they idle, and remembers
// through every restart what it has asked for, so that nothing is launched twice
// and nothing is forgotten.
//
// What should happen is decided by master/elastic. One goroutine a pool owns
// what is known, looks, decides, writes it down and acts; calls to the platform
// run beside it and report back, so that neither scheduler nor loop ever waits
// for a cloud.
//
//	agentrm ──Decided──▶ wake ─┐                        ┌─▶ Launch, Terminate, List
//	calls ────answers──────────┼─▶ decide ▶ write down ─┤
//	clock ─────────────────────┘                        └─▶ Retire, Remove, Explain ──▶ agentrm
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

// Config is what launchers are built from.
type Config struct {
	Store *store.Store
	Pools []Pool
	// Log may be nil.
	Log *slog.Logger
	// Batch is how long a launch waits for more of its kind; zero takes
	// DefaultBatch.
	Batch time.Duration
}

// DefaultBatch gathers the tasks of one submission into one call, and leaves most
// of the quarter of a second in which a waiting task has to reach its cloud.
const DefaultBatch = 50 * time.Millisecond

// Pool is one pool whose machines are launched.
type Pool struct {
	Name string
	// Instances is the platform. Those that implement cloud.Console and
	// cloud.Sweeper are asked for it.
	Instances cloud.Instances
	Offers    []cloud.Offer
	Limits    elastic.Limits
	// LaunchWait is how long the platform may take for one launch, if that is longer than
	// for other calls.
	LaunchWait time.Duration
	// Shape is what one machine offers.
	Shape elastic.Shape
	// KeepWaiting lets tasks wait that a launch error would fail.
	KeepWaiting bool
	// Describe adds what is configured of the machines; it may be nil.
	Describe func(*apiv1.ResourcePool)
}

// Agents is what launchers ask of the agents' resource manager. None of it may
// wait.
type Agents interface {
	// Retire keeps an agent from getting anything new, and says how much it has.
	Retire(id rm.AgentID) (containers int)
	// Unretire takes that back.
	Unretire(id rm.AgentID)
	// Remove gives up an agent whose machine is gone for good.
	Remove(id rm.AgentID, reason string)
	// Explain tells allocations what keeps machines from them, Refuse ends one.
	Explain(ids []rm.AllocationID, w rm.Wait)
	Refuse(id rm.AllocationID, reason string)
}

// Launchers are those of all pools.
type Launchers struct {
	cfg   Config
	pools map[string]*Launcher
}

// New returns launchers that know nothing yet; Restore reads what earlier ones
// have written down.
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
			return nil, fmt.Errorf("launch machines for resource pool %q: store, platform and offers are all needed", p.Name)
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

// warnLeft logs which machines no launcher keeps any more.
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
		l.cfg.Log.Warn("machines were launched for a resource pool that launches none any more; "+
			"they are not admitted and shut down by themselves, but no one checks that they are gone: "+
			"configure the provider again until they are, or terminate them yourself", "pool", pool, "instance_ids", ids)
	}
	return nil
}

// Attach says whose agents they are. It is called once, before Run.
func (l *Launchers) Attach(a Agents) {
	for _, p := range l.pools {
		p.agents = a
	}
}

// Run keeps the machines of all pools until ctx ends. Machines go on; a later
// Run finds them.
func (l *Launchers) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range l.pools {
		g.Go(func() error { return p.runTurns(ctx) })
	}
	g.Go(func() error { l.pruneHistory(ctx); return nil })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("keep machines: %w", err)
	}
	return nil
}

// Room is for agentrm.Config: what may still be launched for a pool.
func (l *Launchers) Room(name string) []pool.Shape {
	p := l.pools[name]
	if p == nil {
		return nil
	}
	return p.listRoom()
}

// Machine is for agentrm.Config: how many slots each machine of a pool has. A pool
// that may have none has no such machine.
func (l *Launchers) Machine(name string) (slots int, found bool) {
	p := l.pools[name]
	if p == nil || p.pool.Limits.Max == 0 {
		return 0, false
	}
	return p.pool.Shape.Slots, true
}

// Decided is for agentrm.Config: it wakes the pool's launcher.
func (l *Launchers) Decided(name string, p pool.Pool, d pool.Decision) {
	if of := l.pools[name]; of != nil {
		of.receiveView(p, d)
	}
}

// Waits is for agentrm.Config: why an allocation does not get its machines.
func (l *Launchers) Waits(name string, id rm.AllocationID) string {
	if p := l.pools[name]; p != nil {
		return p.explainWait(id)
	}
	return ""
}

// Describe is for agentrm.Config: what is known of a pool's machines.
func (l *Launchers) Describe(out *apiv1.ResourcePool) {
	if p := l.pools[out.GetName()]; p != nil {
		p.describePool(out)
	}
}

// Launched says for which pool a machine was launched that is to go on.
func (l *Launchers) Launched(id cloud.InstanceID) (pool string, ok bool) {
	for name, p := range l.pools {
		if m, found := p.findMachine(id); found {
			return name, m.State != elastic.Terminating
		}
	}
	return "", false
}

// Joined says that a machine's agent was admitted. The next view shows it.
func (l *Launchers) Joined(id cloud.InstanceID) {
	for _, p := range l.pools {
		if _, found := p.findMachine(id); found {
			p.wakeUp()
		}
	}
}

// Leaving says that a machine will be, or may be, taken back. It goes when it is
// empty, if it is still there.
func (l *Launchers) Leaving(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, _ time.Time) { p.leaving[id] = reason })
}

// Unprepared says that a machine could not be set up. It is terminated, and
// more of its kind are launched ever more slowly.
func (l *Launchers) Unprepared(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, now time.Time) { p.endUnprepared(id, reason, now) })
}

// Revoked says that a machine is not to be an agent any more. It is terminated,
// whatever runs there.
func (l *Launchers) Revoked(id cloud.InstanceID, reason string) {
	l.postTo(id, func(p *Launcher, now time.Time) { p.endRevoked(id, reason, now) })
}

// postTo has a pool's launcher do something in its next turn.
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
