package launcher

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Launcher keeps the machines of one pool. What is known belongs to the
// goroutine of run; it changes it under mu, under which others read.
type Launcher struct {
	cfg    Config
	pool   Pool
	agents Agents
	log    *slog.Logger
	meters meters

	wake    chan struct{}
	answers chan func(now time.Time)
	calls   sync.WaitGroup

	// Only run looks at these.
	dirt      dirt
	written   map[string]bool // launches that the store knows
	calling   map[string]bool
	retry     map[string]retry
	ending    map[cloud.InstanceID]bool // Terminate, or a look at the console, is under way
	examined  map[cloud.InstanceID]bool
	endAfter  time.Time // no Terminate before it
	endFails  int
	listed    time.Time
	listing   bool
	listFails int
	swept     time.Time
	explained map[string]cloud.Kind
	since     time.Time // when the news came that this turn is about
	farewells []elastic.Machine
	leaves    map[cloud.InstanceID]string // may be taken back, and why

	mu       sync.Mutex // guards what follows
	fleet    *elastic.Fleet
	seen     *view
	news     time.Time             // when something was first seen waiting that run has not looked at
	waiting  bool                  // something waits in it
	posts    []func(now time.Time) // to be done in the next turn
	decision elastic.Decision
	fates    map[string]elastic.Fate
	problems map[string]string
}

// retry is a launch whose answer was not an answer.
type retry struct {
	at      time.Time
	unknown int  // answers of no known kind, in a row
	doubt   bool // an earlier call may have given machines
}

func newLauncher(cfg Config, p Pool) *Launcher {
	return &Launcher{
		cfg: cfg, pool: p, log: cfg.Log.With("pool", p.Name), meters: newMeters(p.Name),
		wake: make(chan struct{}, 1), answers: make(chan func(time.Time)),
		dirt: newDirt(), written: make(map[string]bool), calling: make(map[string]bool), retry: make(map[string]retry),
		ending: make(map[cloud.InstanceID]bool), examined: make(map[cloud.InstanceID]bool), explained: make(map[string]cloud.Kind),
		leaves:   make(map[cloud.InstanceID]string),
		fleet:    elastic.New(p.Limits, p.Offers, p.Shape),
		problems: make(map[string]string),
	}
}

// decided takes the newest view and wakes run. It is called by the scheduler.
func (p *Launcher) decided(scene pool.Pool, d pool.Decision) {
	p.mu.Lock()
	p.seen = &view{scene: scene, decision: d}
	p.waiting = len(d.Waiting) > 0
	if p.waiting && p.news.IsZero() {
		p.news = time.Now()
	}
	p.mu.Unlock()
	p.stir()
}

func (p *Launcher) stir() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// calm is how long news may wait that nobody waits for: an agent became idle, a
// machine has joined.
const calm = time.Second

// run looks, decides and acts until ctx ends. Calls that are under way then are
// cut off; the ledger knows of them.
func (p *Launcher) run(ctx context.Context) error {
	defer p.calls.Wait()
	p.takeUp()
	due := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answer := <-p.answers:
			answer(time.Now())
			p.sayFarewell()
			due = time.Now()
		case <-p.wake:
			if at := time.Now().Add(p.patience()); at.Before(due) {
				due = at
			}
		case <-timer.C:
			due = p.turn(ctx)
		}
		timer.Reset(time.Until(due))
	}
}

// takeUp says again what an earlier launcher has said of machines that must go.
func (p *Launcher) takeUp() {
	for id, m := range p.fleet.Machines {
		if m.State == elastic.Draining || m.State == elastic.Terminating {
			p.agents.Retire(rm.AgentID(id))
		}
	}
}

// sayFarewell tells the scheduler of machines that are gone, or as good as gone.
func (p *Launcher) sayFarewell() {
	list := slices.Clone(p.farewells)
	p.farewells = nil
	for _, m := range list {
		words := "is gone"
		if m.Cause.Planned() {
			words = "was removed"
		}
		p.agents.Remove(rm.AgentID(m.ID), "machine "+string(m.ID)+" "+words+": "+m.Reason)
	}
}

// patience is how long the news at hand may wait for more.
func (p *Launcher) patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting || len(p.fates) > 0 {
		return p.cfg.Batch
	}
	return calm
}

// again is when to look again at the latest, whatever there is to wait for.
const again = time.Hour

// turn is one look at everything. It returns when to look again.
func (p *Launcher) turn(ctx context.Context) time.Time {
	now := time.Now()
	p.mu.Lock()
	if full := p.news.Add(p.cfg.Batch); !p.news.IsZero() && full.After(now) {
		p.mu.Unlock()
		return full // more of the same submission may come
	}
	posts := p.posts
	p.posts = nil
	p.mu.Unlock()
	p.since = time.Time{}
	for _, post := range posts {
		post(now)
	}
	d, looked := p.look(now)
	if looked {
		p.explain(d, now)
		p.prepare(d, now)
	}
	next := earlier(now.Add(again), d.Wake)
	if err := p.flush(ctx); err != nil {
		p.problem("ledger", err)
		return earlier(next, now.Add(time.Second))
	}
	p.problem("ledger", nil)
	next = earlier(next, p.callLaunches(ctx, now))
	next = earlier(next, p.callTerminate(ctx, now))
	next = earlier(next, p.callList(ctx, now))
	p.callSweep(ctx, now)
	return next
}

// earlier is the first of two times of which the second may be none.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// look takes in the newest view and decides. Before the first one nothing can
// be decided. The scheduler may come by at any time, so mu is held only for what
// others read.
func (p *Launcher) look(now time.Time) (d elastic.Decision, looked bool) {
	p.mu.Lock()
	seen := p.seen
	p.since, p.news = p.news, time.Time{}
	p.mu.Unlock()
	if seen == nil {
		return d, false
	}
	agents, gangs := seen.translate()
	p.mu.Lock()
	p.note(p.fleet.Observe(agents, gangs, now))
	p.mu.Unlock()
	p.evacuate(now)
	d = elastic.Decide(p.fleet, now)
	fates := make(map[string]elastic.Fate, len(gangs))
	for i, g := range gangs {
		fates[g.ID] = d.Fates[i]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decision, p.fates = d, fates
	return d, true
}

// note writes down what machines did. The caller holds mu.
func (p *Launcher) note(changes []elastic.Change) {
	for _, c := range changes {
		m := c.Machine
		p.dirt.machines[m.ID] = true
		args := []any{"instance_id", m.ID, "type", m.Offer.Type, "zone", m.Offer.Zone, "price", m.Offer.Price}
		switch m.State {
		case elastic.Starting:
			p.log.Info("machine is starting", args...)
		case elastic.Joined:
			if c.From == elastic.Starting {
				p.meters.boot.Observe(m.Joined.Sub(m.Launched).Seconds())
				p.log.Info("machine has joined", append(args, "took", m.Joined.Sub(m.Launched))...)
			}
		case elastic.Lost:
			p.log.Warn("agent of a machine is gone", args...)
		case elastic.Draining:
			p.log.Info("machine is to go when it is empty", append(args, "reason", m.Reason)...)
		case elastic.Terminating:
			p.log.Info("machine is terminated", append(args, "reason", m.Reason)...)
		case elastic.Gone:
			p.gone(m, args)
		}
	}
}

// gone writes the history of a machine that has ended.
func (p *Launcher) gone(m elastic.Machine, args []any) {
	ended := m.Accepted
	if ended.IsZero() {
		ended = m.Since
	}
	p.dirt.ended[m.ID] = endedDoc{Machine: m, Ended: ended}
	p.farewells = append(p.farewells, m)
	delete(p.ending, m.ID)
	delete(p.examined, m.ID)
	if m.Cause.Planned() {
		p.log.Info("machine is gone", append(args, "reason", m.Reason)...)
	} else {
		p.log.Warn("machine is gone", append(args, "reason", m.Reason)...)
	}
}

// problem notes what goes wrong beside launching; nil takes it away.
func (p *Launcher) problem(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.problems, what)
		return
	}
	text := err.Error()
	if p.problems[what] != text {
		p.log.Warn("cannot keep machines as they should be", "err", err)
	}
	p.problems[what] = text
}
