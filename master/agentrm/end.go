package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// giveUp settles the end of a container without its agent.
func (r *RM) giveUp(c *container, reason string) {
	if c.ended() || c.givenUp {
		return
	}
	c.givenUp = true
	kind := agentv1.Exit_KIND_LOST
	if !c.sent && !c.received {
		kind = agentv1.Exit_KIND_NOT_STARTED
	}
	change := &agentv1.Change{
		ContainerId: string(c.id), State: apiv1.Container_STATE_TERMINATED, AtUs: time.Now().UnixMicro(),
		Exit: &agentv1.Exit{Kind: kind, Message: reason},
	}
	r.lanes.post(c.allocation.lane(), func(ctx context.Context) time.Duration { return r.apply(ctx, c, change) })
}

// giveUpAgent fails what runs on a lost agent, and forgets it.
func (r *RM) giveUpAgent(a *agent, reason string, now time.Time) {
	if err := a.transition(Gone, now); err != nil {
		r.cfg.Log.Error("give up agent", "agent_id", a.id, "err", err)
		return
	}
	if len(a.containers) == 0 {
		r.cfg.Log.Info("agent has left", "agent_id", a.id, "pool", a.pool, "reason", reason)
	} else {
		r.cfg.Log.Warn("agent is gone", "agent_id", a.id, "pool", a.pool, "reason", reason, "containers", len(a.containers))
	}
	delete(r.agents, a.id)
	for _, c := range a.containers {
		r.loseContainer(c, reason)
	}
	doc := a.doc()
	if doc.switched() {
		r.switches[a.id] = doc
		return
	}
	r.lanes.post("agent:"+string(a.id), func(ctx context.Context) time.Duration {
		if r.agentIsBack(a.id) {
			return 0
		}
		if err := r.records.dropAgent(ctx, a.id); err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("forget agent", "agent_id", a.id, "err", err)
			return retryAfter
		}
		return 0
	})
}

func (r *RM) agentIsBack(id rm.AgentID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agents[id] != nil
}

// loseContainer ends a container that is nowhere any more, and with it the
// whole allocation: the loss is the machine's, not the task's.
func (r *RM) loseContainer(c *container, reason string) {
	r.giveUp(c, reason)
	r.kill(c.allocation, rm.CauseAgentLost, reason)
}

// apply takes in a container's new state: owner first, own record second, and
// the agent is told last. It may be repeated at any point.
func (r *RM) apply(ctx context.Context, c *container, change *agentv1.Change) time.Duration {
	a := c.allocation
	if r.isNews(c, change.GetState()) {
		if err := r.cfg.Tasks.Changed(ctx, r.changed(c, change)); err != nil {
			return r.again(ctx, "tell of container", a, err)
		}
		r.advance(c, change.GetState())
	}
	if change.GetState() == apiv1.Container_STATE_TERMINATED {
		if again := r.settle(ctx, a); again > 0 {
			return again
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.stored = max(c.stored, change.GetState())
	r.agents[c.agent].send(ackOf(change))
	return 0
}

func ackOf(change *agentv1.Change) message {
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Ack{Ack: &agentv1.Ack{
		ContainerId: change.GetContainerId(), State: change.GetState(),
	}}}
}

// isNews reports whether a state is ahead of what is stored. States only go
// forward, so a repeated one is old news.
func (r *RM) isNews(c *container, s apiv1.Container_State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s > c.state
}

func (r *RM) advance(c *container, s apiv1.Container_State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.state = s
	c.has()
	if !c.ended() {
		return
	}
	if agent := r.agents[c.agent]; agent != nil {
		delete(agent.containers, c.id)
	}
	r.stir()
}

func (r *RM) changed(c *container, change *agentv1.Change) rm.ContainerChange {
	out := rm.ContainerChange{
		Allocation: c.allocation.Allocation, Container: c.id, Agent: c.agent, Rank: c.rank,
		State: change.GetState(), Exit: change.GetExit(), Addresses: change.GetAddresses(),
		At: agentv1.Instant(change.GetAtUs(), time.Now()),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if agent := r.agents[c.agent]; agent != nil && out.State == apiv1.Container_STATE_RUNNING {
		out.Host = r.hostOn(agent, c.allocation)
	}
	return out
}

// settle stores how far an allocation has come. When nothing is left of it, its
// owner is told and it is forgotten.
func (r *RM) settle(ctx context.Context, a *allocation) time.Duration {
	end, ended, over := r.outcome(a)
	if over {
		return 0
	}
	if !ended {
		if err := r.save(ctx, a); err != nil {
			return r.again(ctx, "store allocation", a, err)
		}
		return 0
	}
	if err := r.cfg.Tasks.Ended(ctx, a.Allocation, end); err != nil {
		return r.again(ctx, "tell of end", a, err)
	}
	if err := r.records.dropAllocation(ctx, a.Allocation); err != nil {
		return r.again(ctx, "forget allocation", a, err)
	}
	r.forget(a)
	return 0
}

func (r *RM) outcome(a *allocation) (end rm.End, ended, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end = rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
	if a.release != nil {
		end.Cause, end.Reason = a.release.Cause, a.release.Reason
	}
	return end, a.ended(), a.phase == Over
}

// forget removes what nobody will speak of again.
func (r *RM) forget(a *allocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := a.transition(Over); err != nil {
		r.cfg.Log.Error("end allocation", "allocation", a.Allocation, "err", err)
	}
	delete(r.allocations, a.Allocation)
	r.queue.End(a.Allocation)
	for _, c := range a.containers {
		delete(r.containers, c.id)
	}
	r.stir()
}
