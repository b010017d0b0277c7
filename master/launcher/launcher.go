package launcher

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Launcher keeps the machines of one pool: it looks, decides, writes down and acts. Its
// parts are the state, the inbox of what others tell it, and the platform.
type Launcher struct {
	*state
	inbox    *inbox
	platform *platform
	agents   Agents

	wake chan struct{}

	// Only run looks at these.
	explained map[string]cloud.Kind
	leaving   map[cloud.InstanceID]string // may be interrupted, and why
}

func newLauncher(cfg Config, p Pool) *Launcher {
	s := newState(cfg, p)
	return &Launcher{
		state: s, inbox: &inbox{}, platform: newPlatform(s), wake: make(chan struct{}, 1),
		explained: make(map[string]cloud.Kind), leaving: make(map[cloud.InstanceID]string),
	}
}

// restoreRecords reads what an earlier launcher has written. Whether it has sent the launches of
// which no answer is recorded is not known.
func (l *Launcher) restoreRecords(ctx context.Context) error {
	if err := l.state.restoreRecords(ctx); err != nil {
		return err
	}
	for token := range l.fleet.Launches {
		l.platform.retries[token] = retry{doubt: true}
	}
	l.platform.restoreMachines()
	return nil
}

// receiveView takes the newest view and wakes run. It is called by the scheduler.
func (l *Launcher) receiveView(p pool.Pool, d pool.Decision) {
	l.inbox.putView(&view{pool: p, decision: d}, time.Now())
	l.wakeUp()
}

// postAction has run do something in its next turn.
func (l *Launcher) postAction(do func(now time.Time)) {
	l.inbox.putPost(do)
	l.wakeUp()
}

func (l *Launcher) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// idleDelay is how long a view may wait in which no task waits: an agent became idle, a
// machine has joined.
const idleDelay = time.Second

// runTurns looks, decides and acts until ctx ends. Calls that are under way then are
// cut off; the ledger knows of them.
func (l *Launcher) runTurns(ctx context.Context) error {
	defer l.platform.running.Wait()
	l.retireRestored()
	due := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answer := <-l.platform.answers:
			answer(time.Now())
			l.notifyRemoved()
			due = time.Now()
		case <-l.wake:
			if at := time.Now().Add(l.turnDelay()); at.Before(due) {
				due = at
			}
		case <-timer.C:
			due = l.runTurn(ctx)
		}
		timer.Reset(time.Until(due))
	}
}

// retireRestored says again what an earlier launcher has said of machines that must go.
func (l *Launcher) retireRestored() {
	for id, m := range l.fleet.Machines {
		if m.State == elastic.Draining || m.State == elastic.Terminating {
			l.agents.Retire(rm.AgentID(id))
		}
	}
}

// notifyRemoved tells the scheduler of machines that are gone, or as good as gone.
func (l *Launcher) notifyRemoved() {
	list := slices.Clone(l.removed)
	l.removed = nil
	for _, m := range list {
		words := "is gone"
		if m.Cause.Planned() {
			words = "was removed"
		}
		l.agents.Remove(rm.AgentID(m.ID), "machine "+string(m.ID)+" "+words+": "+m.Reason)
	}
}

// turnDelay is how long the news at hand may wait for more.
func (l *Launcher) turnDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inbox.tasksWait() || len(l.fates) > 0 {
		return l.cfg.Batch
	}
	return idleDelay
}

// again is when to look again at the latest, whatever there is to wait for.
const again = time.Hour

// runTurn is one look at everything. It returns when to look again.
func (l *Launcher) runTurn(ctx context.Context) time.Time {
	now := time.Now()
	if full := l.inbox.completeAt(l.cfg.Batch); full.After(now) {
		return full // more of the same submission may come
	}
	posts := l.inbox.takePosts()
	for _, post := range posts {
		post(now)
	}
	d, since, decided := l.decideActions(now)
	if decided {
		l.explainWaits(d, now)
		l.enterDecision(d, now)
	}
	next := earliestTime(now.Add(again), d.Wake)
	if err := l.ledger.saveChanges(ctx, l.fleet); err != nil {
		l.setProblem("ledger", err)
		return earliestTime(next, now.Add(time.Second))
	}
	l.setProblem("ledger", nil)
	l.platform.forgetGone()
	next = earliestTime(next, l.platform.callLaunches(ctx, since, now))
	next = earliestTime(next, l.platform.callTerminate(ctx, now))
	next = earliestTime(next, l.platform.callList(ctx, now))
	l.platform.callSweep(ctx, now)
	return next
}

// earliestTime is the first of two times of which the second may be none.
func earliestTime(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// decideActions takes in the newest view and decides. Before the first one nothing can be
// decided. Since is when the first of the tasks came that wait in it. The scheduler may
// come by at any time, so mu is held only for what others read.
func (l *Launcher) decideActions(now time.Time) (d elastic.Decision, since time.Time, decided bool) {
	seen, since := l.inbox.takeView()
	if seen == nil {
		return d, since, false
	}
	agents, gangs := seen.toElastic()
	l.mu.Lock()
	l.recordChanges(l.fleet.Observe(agents, gangs, now))
	l.mu.Unlock()
	l.drainLeaving(now)
	d = elastic.Decide(l.fleet, now)
	fates := make(map[string]elastic.Fate, len(gangs))
	for i, g := range gangs {
		fates[g.ID] = d.Fates[i]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decision, l.fates = d, fates
	return d, since, true
}
