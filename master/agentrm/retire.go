package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Lose gives up an agent at once, for someone who knows that its machine is
// out of reach. One that is not known is not an error.
func (r *RM) Lose(id rm.AgentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.agents[id]; a != nil {
		r.loseAgent(a, reason)
	}
}

// Expel is Lose for an agent that must not come back: it is told so, and its link is
// cut whether or not it reads that.
func (r *RM) Expel(id rm.AgentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.preparing {
		if l.agent == id {
			l.drop(reason)
		}
	}
	delete(r.arriving, id) // it was let in before this, and is not connected yet
	a := r.agents[id]
	if a == nil {
		return
	}
	if a.link != nil {
		a.link.expel(reason)
		a.link = nil
	}
	r.loseAgent(a, reason)
}

func (r *RM) loseAgent(a *agent, reason string) {
	now := time.Now()
	if a.link != nil {
		a.link.drop(reason)
		a.link = nil
	}
	if a.presence == Connected {
		if err := a.transition(Lost, now); err != nil {
			r.cfg.Log.Error("lose agent", "agent_id", a.id, "err", err)
		}
	}
	r.giveUpAgent(a, reason, now)
	r.stir()
}

// Remove is Lose for a machine that is gone for good, as launched machines are:
// nothing is kept for its return. An agent that is still there is told that this
// was intended, and goes home without a complaint.
func (r *RM) Remove(id rm.AgentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, id)
	if a := r.agents[id]; a != nil {
		a.state = rm.Enable
		clear(a.slots)
		if a.link != nil {
			a.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Shutdown{Shutdown: &agentv1.Shutdown{Reason: reason}}})
			a.link = nil // it hangs up, or its machine does
		}
		r.loseAgent(a, reason)
		return
	}
	if _, kept := r.switches[id]; kept {
		delete(r.switches, id)
		r.lanes.post("agent:"+string(id), func(ctx context.Context) time.Duration {
			if err := r.records.dropAgent(ctx, id); err != nil && ctx.Err() == nil {
				return retryAfter
			}
			return 0
		})
	}
}

// Retire keeps an agent from getting anything new, because its machine is to
// go, and says how many containers it has. It is no operator's switch: it is not
// stored, and holds whether or not the agent is connected.
func (r *RM) Retire(id rm.AgentID) (containers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[id]
	if !r.retired[id] {
		r.retired[id] = true
		r.stir()
	}
	if a == nil {
		return 0
	}
	a.retired = true
	return len(a.containers)
}

// Unretire takes Retire back.
func (r *RM) Unretire(id rm.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, id)
	if a := r.agents[id]; a != nil {
		a.retired = false
	}
	r.stir()
}

// Explain tells the owners of waiting allocations what keeps machines from
// being launched for them. It is told once for each kind of matter; allocations
// that do not wait any more are passed over.
func (r *RM) Explain(ids []rm.AllocationID, w rm.Wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		a := r.allocations[id]
		if a == nil || a.phase != Queued || a.explained == w.Kind {
			continue
		}
		a.explained = w.Kind
		r.lanes.post(a.lane(), func(ctx context.Context) time.Duration {
			if err := r.cfg.Tasks.Waits(ctx, id, w); err != nil {
				return r.again(ctx, "tell why it waits", a, err)
			}
			return 0
		})
	}
}

// Refuse ends an allocation that still waits and will not be served.
func (r *RM) Refuse(id rm.AllocationID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.allocations[id]; a != nil && a.phase == Queued {
		r.stop(a, rm.CauseRefused, reason)
	}
}
