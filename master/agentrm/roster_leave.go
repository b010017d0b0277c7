package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// giveUpAgent ends the containers of a lost agent, and removes it.
func (r *roster) giveUpAgent(a *agent, reason string, now time.Time) {
	if err := a.setState(Gone, now); err != nil {
		r.cfg.Log.Error("cannot remove agent", "agent_id", a.id, "err", err)
		return
	}
	if len(a.containers) == 0 {
		r.cfg.Log.Info("agent removed", "agent_id", a.id, "pool", a.pool, "reason", reason)
	} else {
		r.cfg.Log.Warn("agent lost; ending its containers", "agent_id", a.id, "pool", a.pool, "reason", reason, "containers", len(a.containers))
	}
	delete(r.agents, a.id)
	delete(r.sick, a.id)
	r.streams.EndAgent(a.id, reason)
	r.noteAgents()
	for _, c := range a.containers {
		r.runner.loseContainer(c, reason)
	}
	doc := a.toDoc()
	if doc.isSwitched() {
		r.switches[a.id] = doc
		return
	}
	r.work.Add("agent:"+string(a.id), func(ctx context.Context) time.Duration {
		if r.hasAgent(a.id) {
			return 0
		}
		if err := r.records.dropAgent(ctx, a.id); err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("cannot delete agent record; retrying", "agent_id", a.id, "err", err)
			return retryAfter
		}
		return 0
	})
}

// expelAgent implements RM.Expel.
func (r *roster) expelAgent(id rm.AgentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.arriving, id) // it may be admitted but not connected yet
	a := r.agents[id]
	if a == nil {
		return
	}
	if a.link != nil {
		a.link.Revoke(reason)
		a.link = nil
	}
	r.loseAgent(a, reason)
}

func (r *roster) loseAgent(a *agent, reason string) {
	now := time.Now()
	if a.link != nil {
		a.link.Close(reason)
		a.link = nil
	}
	if a.presence == Connected {
		if err := a.setState(Lost, now); err != nil {
			r.cfg.Log.Error("cannot mark agent lost", "agent_id", a.id, "err", err)
		}
	}
	r.giveUpAgent(a, reason, now)
	r.passes.Wake()
}

// removeAgent implements RM.Remove.
func (r *roster) removeAgent(id rm.AgentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, id)
	if a := r.agents[id]; a != nil {
		a.state = rm.Enable
		clear(a.slots)
		if a.link != nil {
			a.sendMessage(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Shutdown{Shutdown: &agentv1.Shutdown{Reason: reason}}})
			a.link = nil // it hangs up, or its machine does
		}
		r.loseAgent(a, reason)
		return
	}
	if _, kept := r.switches[id]; kept {
		delete(r.switches, id)
		r.work.Add("agent:"+string(id), func(ctx context.Context) time.Duration {
			if err := r.records.dropAgent(ctx, id); err != nil && ctx.Err() == nil {
				return retryAfter
			}
			return 0
		})
	}
}

// retireAgent implements RM.Retire.
func (r *roster) retireAgent(id rm.AgentID) (containers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[id]
	if !r.retired[id] {
		r.retired[id] = true
		r.noteAgents()
		r.passes.Wake()
	}
	if a == nil {
		return 0
	}
	a.retired = true
	return len(a.containers)
}

// unretireAgent implements RM.Unretire.
func (r *roster) unretireAgent(id rm.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, id)
	r.noteAgents()
	if a := r.agents[id]; a != nil {
		a.retired = false
	}
	r.passes.Wake()
}

// dropLinks closes the links of all agents, and keeps agents from connecting again.
func (r *roster) dropLinks(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	for _, a := range r.agents {
		if a.link != nil {
			a.link.Close(reason)
		}
	}
}

// expireAgents gives up agents that have been lost for too long, and returns when the next one is due.
// As long as no agent changes, it checks them again only at that time.
func (r *roster) expireAgents(now time.Time) (next time.Time) {
	if e := r.expiry; e.version == r.agentsVersion && (e.next.IsZero() || now.Before(e.next)) {
		return e.next
	}
	next = r.giveUpLost(now)
	r.expiry = expiry{version: r.agentsVersion, next: next}
	return next
}

// expiry is when the next lost agent is given up, zero for never, for the agents of a version.
type expiry struct {
	version uint64
	next    time.Time
}

func (r *roster) giveUpLost(now time.Time) (next time.Time) {
	for _, a := range r.agents {
		if a.presence != Lost {
			continue
		}
		p, _ := r.cfg.findPool(a.pool)
		if until := a.since.Add(p.lostWait()); until.After(now) {
			next = earliestTime(next, until)
			continue
		}
		r.giveUpAgent(a, a.lostReason(), now)
	}
	return next
}
