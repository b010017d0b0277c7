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

// prepare turns a decision into entries of the ledger. Nothing has left this
// process when it returns but words to the scheduler.
func (p *Launcher) prepare(d elastic.Decision, now time.Time) {
	for _, id := range d.Keep {
		p.move(id, elastic.Joined, elastic.Why{}, now)
		p.agents.Unretire(rm.AgentID(id))
	}
	for _, g := range d.Drain {
		if p.agents.Retire(rm.AgentID(g.ID)) > 0 && g.Why.Cause == elastic.CauseIdle {
			// It has got work since it was last seen idle.
			p.agents.Unretire(rm.AgentID(g.ID))
			continue
		}
		p.move(g.ID, elastic.Draining, g.Why, now)
		p.stir()
	}
	for _, g := range d.Terminate {
		p.send(g, now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ask := range d.Launch {
		l := &elastic.Launch{Token: uuid.NewString(), Offer: ask.Offer, Count: ask.Count, At: now}
		p.fleet.Launches[l.Token] = l
		p.dirt.launches[l.Token] = true
	}
	for _, token := range d.Forget {
		if !p.calling[token] {
			p.log.Warn("launch was never answered, and cannot be sent again", "token", token)
			p.closeLaunch(token)
		}
	}
}

// send puts a machine on its way out. One that has work after all, whatever was
// seen, stays until it is empty, unless it is dead.
func (p *Launcher) send(g elastic.Going, now time.Time) {
	busy := p.agents.Retire(rm.AgentID(g.ID)) > 0
	m, known := p.machine(g.ID)
	if !known {
		return
	}
	if busy && (g.Why.Cause.Planned() || m.State == elastic.Draining) {
		if m.State == elastic.Starting {
			p.agents.Unretire(rm.AgentID(g.ID)) // it has joined just now
		}
		return
	}
	if p.move(g.ID, elastic.Terminating, g.Why, now) && g.Why.Cause == elastic.CauseNoJoin {
		p.broken(m, g.Why.Reason, now)
	}
}

// broken holds against a machine's offer that it was no good.
func (p *Launcher) broken(m elastic.Machine, reason string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet.Refuse(m.Offer, elastic.Refusal{
		Kind: cloud.Invalid, Broken: true, Text: "machine " + string(m.ID) + " (" + m.Offer.Type + "): " + reason,
		Fix: "see `det-deploy pool history`",
	}, now)
}

// evacuate empties machines that may be taken back. The word of it may come
// before the machine is seen to have joined, and while it is draining for a reason
// that is taken back; its agent gets nothing new from then on, so it must go. Nor
// does the agent of a machine that is on its way out.
func (p *Launcher) evacuate(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(p.leaves)) {
		m, known := p.machine(id)
		switch {
		case !known || m.State == elastic.Terminating:
			delete(p.leaves, id)
		case m.State == elastic.Joined:
			p.agents.Retire(rm.AgentID(id))
			p.move(id, elastic.Draining, elastic.Why{Cause: elastic.CauseTaken, Reason: p.leaves[id]}, now)
		}
	}
	for id, m := range p.fleet.Machines {
		if m.State == elastic.Terminating && m.Accepted.IsZero() {
			p.agents.Retire(rm.AgentID(id)) // a list may have been the first to say so
		}
	}
}

// unprepared ends a machine that could not be set up.
func (p *Launcher) unprepared(id cloud.InstanceID, reason string, now time.Time) {
	m, known := p.machine(id)
	if !known || m.State == elastic.Terminating {
		return
	}
	p.agents.Retire(rm.AgentID(id))
	if p.move(id, elastic.Terminating, elastic.Why{Cause: elastic.CauseUnprepared, Reason: "it could not be set up: " + reason}, now) {
		p.broken(m, "it could not be set up: "+reason, now)
	}
}

// revoked ends a machine that an administrator has revoked.
func (p *Launcher) revoked(id cloud.InstanceID, reason string, now time.Time) {
	m, known := p.machine(id)
	if !known || m.State == elastic.Terminating {
		return
	}
	p.agents.Retire(rm.AgentID(id))
	p.move(id, elastic.Terminating, elastic.Why{Cause: elastic.CauseRevoked, Reason: reason}, now)
}

// move carries a machine over, and reports whether that was possible.
func (p *Launcher) move(id cloud.InstanceID, to elastic.State, why elastic.Why, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.fleet.Machines[id]
	if m == nil {
		return false
	}
	from := m.State
	if err := p.fleet.Move(id, to, why, now); err != nil {
		p.log.Error("move machine", "instance_id", id, "err", err)
		return false
	}
	p.note([]elastic.Change{{Machine: *m, From: from}})
	return true
}

// closeLaunch forgets a call for machines. The caller holds mu.
func (p *Launcher) closeLaunch(token string) {
	delete(p.fleet.Launches, token)
	delete(p.written, token)
	delete(p.retry, token)
	p.dirt.launches[token] = true
}

// explain tells tasks why their machines are not launched, and gives up those
// that a launch error fails.
func (p *Launcher) explain(d elastic.Decision, now time.Time) {
	told, ids := make(map[string]cloud.Kind), []rm.AllocationID(nil)
	kind := d.Standing.Kind
	for i, g := range p.fleet.Waiting {
		if kind == "" || d.Fates[i] != elastic.Wanted {
			continue
		}
		if told[g.ID] = kind; p.explained[g.ID] != kind {
			ids = append(ids, rm.AllocationID(g.ID))
		}
	}
	p.explained = told
	if len(ids) > 0 {
		p.agents.Explain(ids, rm.Wait{Kind: string(kind), Reason: d.Standing.Words(), At: now, Next: d.Standing.Until})
	}
	if p.pool.KeepWaiting || len(d.Fail) == 0 {
		return
	}
	p.log.Warn("tasks are failed for a launch error", "tasks", len(d.Fail), "err", d.Standing.Words())
	shown, _ := p.fleet.Shown(now)
	for _, id := range d.Fail {
		p.agents.Refuse(rm.AllocationID(id), "launch error: "+shown.Words())
	}
}
