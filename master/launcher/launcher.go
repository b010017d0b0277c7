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

// Launcher manages the machines of one pool: it observes, decides, records and acts. It consists of the
// state, the inbox of messages, and the platform.
type Launcher struct {
	*state
	inbox    *inbox
	platform *platform
	agents   Agents

	wake chan struct{}

	// Used by run only.
	explained map[string]cloud.Kind
	leaving   map[cloud.InstanceID]string // may be interrupted, with the reason
}

func newLauncher(cfg Config, p Pool) *Launcher {
	s := newState(cfg, p)
	return &Launcher{
		state: s, inbox: &inbox{}, platform: newPlatform(s), wake: make(chan struct{}, 1),
		explained: make(map[string]cloud.Kind), leaving: make(map[cloud.InstanceID]string),
	}
}

// restoreRecords reads the records of an earlier launcher. It is unknown whether that one sent the
// launches without a recorded answer, so that they are repeated with their tokens.
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

// receiveView takes the newest view and wakes run. The scheduler calls it.
func (l *Launcher) receiveView(p pool.Pool, d pool.Decision) {
	l.inbox.putView(&view{pool: p, decision: d}, time.Now())
	l.wakeUp()
}

// postAction schedules a function for the next turn of run.
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

// idleDelay is the time that a view without waiting tasks may be delayed: an agent became idle, or a
// machine has joined.
const idleDelay = time.Second

// runTurns observes, decides and acts until ctx is done, and returns its error. It then cancels
// outstanding calls, which the ledger has recorded.
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

// retireRestored retires the agents of machines that an earlier launcher was removing.
func (l *Launcher) retireRestored() {
	for id, m := range l.fleet.Machines {
		if m.State == elastic.Draining || m.State == elastic.Terminating {
			l.agents.Retire(rm.AgentID(id))
		}
	}
}

// notifyRemoved notifies the scheduler of machines that are gone or whose termination was accepted.
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

// turnDelay returns the time that a turn may be delayed to gather more events.
func (l *Launcher) turnDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inbox.tasksWait() || len(l.fates) > 0 {
		return l.cfg.Batch
	}
	return idleDelay
}

// again is the maximum time between two turns.
const again = time.Hour

// runTurn runs one turn. It returns the time of the next one.
func (l *Launcher) runTurn(ctx context.Context) time.Time {
	now := time.Now()
	if full := l.inbox.completeAt(l.cfg.Batch); full.After(now) {
		return full // more tasks of the same submission may come
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

// earliestTime returns the earlier of two times; b may be zero, which means never.
func earliestTime(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// decideActions updates the fleet from the newest view and decides. It reports false before the first
// view. Since is when the first of the tasks that wait in the view came. It holds mu only for the fields
// that others read, because the scheduler may call at any time.
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
