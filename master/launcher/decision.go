package launcher

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/rm"
)

// enterDecision records a decision in the ledger. It makes no platform calls; it only informs the
// scheduler.
func (l *Launcher) enterDecision(d elastic.Decision, now time.Time) {
	for _, id := range d.Keep {
		l.moveMachine(id, elastic.Joined, elastic.Why{}, now)
		l.agents.Unretire(rm.AgentID(id))
	}
	for _, g := range d.Drain {
		if l.agents.Retire(rm.AgentID(g.ID)) > 0 && g.Why.Cause == elastic.CauseIdle {
			// It has received work since it was last seen idle.
			l.agents.Unretire(rm.AgentID(g.ID))
			continue
		}
		l.moveMachine(g.ID, elastic.Draining, g.Why, now)
		l.wakeUp()
	}
	for _, g := range d.Terminate {
		l.endMachine(g, now)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ask := range d.Launch {
		launch := &elastic.Launch{Token: uuid.NewString(), Offer: ask.Offer, Count: ask.Count, At: now}
		l.fleet.Launches[launch.Token] = launch
		l.ledger.unsaved.launches[launch.Token] = true
	}
	for _, token := range d.Forget {
		if !l.platform.calling[token] {
			l.log.Warn("giving up on an unanswered launch", "token", token)
			l.forgetLaunch(token)
		}
	}
}

// endMachine starts the termination of a machine. A machine that has received work meanwhile stays until
// it is empty, unless it is lost.
func (l *Launcher) endMachine(g elastic.Going, now time.Time) {
	busy := l.agents.Retire(rm.AgentID(g.ID)) > 0
	m, known := l.findMachine(g.ID)
	if !known {
		return
	}
	if busy && (g.Why.Cause.Planned() || m.State == elastic.Draining) {
		if m.State == elastic.Starting {
			l.agents.Unretire(rm.AgentID(g.ID)) // it has just joined
		}
		return
	}
	if l.moveMachine(g.ID, elastic.Terminating, g.Why, now) && g.Why.Cause == elastic.CauseNoJoin {
		l.refuseOffer(m, g.Why.Reason, now)
	}
}

// refuseOffer records that a machine's offer gave an unusable machine.
func (s *state) refuseOffer(m elastic.Machine, reason string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fleet.Refuse(m.Offer, elastic.Refusal{
		Kind: cloud.Invalid, Broken: true, Text: "machine " + string(m.ID) + " (" + m.Offer.Type + "): " + reason,
		Fix: "see `det-deploy pool history`",
	}, now)
}

// drainLeaving drains machines that may be interrupted. The notice may come before the machine is seen
// to have joined, and while it is draining for a reason that is later withdrawn. From the notice on its
// agent gets no new work, so the machine must be drained in each case. Agents of terminating machines
// get no new work either.
func (l *Launcher) drainLeaving(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(l.leaving)) {
		m, known := l.findMachine(id)
		switch {
		case !known || m.State == elastic.Terminating:
			delete(l.leaving, id)
		case m.State == elastic.Joined:
			l.agents.Retire(rm.AgentID(id))
			l.moveMachine(id, elastic.Draining, elastic.Why{Cause: elastic.CauseTaken, Reason: l.leaving[id]}, now)
		}
	}
	for id, m := range l.fleet.Machines {
		if m.State == elastic.Terminating && m.Accepted.IsZero() {
			l.agents.Retire(rm.AgentID(id)) // a list may have been the first to report it
		}
	}
}

// endUnprepared terminates a machine that could not be set up.
func (l *Launcher) endUnprepared(id cloud.InstanceID, reason string, now time.Time) {
	m, known := l.findMachine(id)
	if !known || m.State == elastic.Terminating {
		return
	}
	l.agents.Retire(rm.AgentID(id))
	if l.moveMachine(id, elastic.Terminating, elastic.Why{Cause: elastic.CauseUnprepared, Reason: "it could not be set up: " + reason}, now) {
		l.refuseOffer(m, "it could not be set up: "+reason, now)
	}
}

// endRevoked terminates a machine whose agent an administrator has revoked.
func (l *Launcher) endRevoked(id cloud.InstanceID, reason string, now time.Time) {
	m, known := l.findMachine(id)
	if !known || m.State == elastic.Terminating {
		return
	}
	l.agents.Retire(rm.AgentID(id))
	l.moveMachine(id, elastic.Terminating, elastic.Why{Cause: elastic.CauseRevoked, Reason: reason}, now)
}

// moveMachine changes the state of a machine, and reports whether it succeeded.
func (s *state) moveMachine(id cloud.InstanceID, to elastic.State, why elastic.Why, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.fleet.Machines[id]
	if m == nil {
		return false
	}
	from := m.State
	if err := s.fleet.Move(id, to, why, now); err != nil {
		s.log.Error("cannot change machine state", "instance_id", id, "err", err)
		return false
	}
	s.recordChanges([]elastic.Change{{Machine: *m, From: from}})
	return true
}

// forgetLaunch deletes a call for machines. The caller holds mu.
func (s *state) forgetLaunch(token string) {
	delete(s.fleet.Launches, token)
	delete(s.ledger.written, token)
	s.ledger.unsaved.launches[token] = true
}

// explainWaits reports to waiting tasks why their machines are not launched, and fails the tasks that a
// launch error concerns.
func (l *Launcher) explainWaits(d elastic.Decision, now time.Time) {
	told, ids := make(map[string]cloud.Kind), []rm.AllocationID(nil)
	kind := d.Standing.Kind
	for i, g := range l.fleet.Waiting {
		if kind == "" || d.Fates[i] != elastic.Wanted {
			continue
		}
		if told[g.ID] = kind; l.explained[g.ID] != kind {
			ids = append(ids, rm.AllocationID(g.ID))
		}
	}
	l.explained = told
	if len(ids) > 0 {
		l.agents.Explain(ids, rm.Wait{Kind: string(kind), Reason: d.Standing.Words(), At: now, Next: d.Standing.Until})
	}
	if l.pool.KeepWaiting || len(d.Fail) == 0 {
		return
	}
	l.log.Warn("failing tasks because of a launch error", "tasks", len(d.Fail), "err", d.Standing.Words())
	shown, _ := l.fleet.Shown(now)
	for _, id := range d.Fail {
		l.agents.Refuse(rm.AllocationID(id), "launch error: "+shown.Words())
	}
}
